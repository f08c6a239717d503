package cluster

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Token returns the credential of a launch: 64 hex digits that nobody can tell without the secret of the process, which is
// random. Only its hash is stored (see HashToken), so the next scheduler knows the token when it sees it and cannot
// make it.
func Token(secret []byte, taskID string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(taskID))
	return hex.EncodeToString(mac.Sum(nil))
}

// HashToken returns the lower-case hex SHA-256 of a token.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
