package store

import "github.com/redis/go-redis/v9"

// stampLua tells the server's time in milliseconds and writes such a time as text of a fixed width, so that two of them
// compare as strings as they do in time.
const stampLua = `
local function stamp(ms)
  local days = math.floor(ms / 86400000)
  local rest = ms - days * 86400000
  -- civil date from days: 400-year eras that begin on 1 March
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local day = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year, month, day, math.floor(rest / 3600000),
    math.floor(rest / 60000) % 60, math.floor(rest / 1000) % 60, rest % 1000)
end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`

// acquireScript takes the lease if nobody has it.
//
// KEYS[1] -> the leader
// ARGV[1] -> how long the lease lasts, in milliseconds
// ARGV[2] -> the fence of a leader that is known to be dead, or ""
// ARGV[3...] -> names and values of the fields that the caller knows
// Output: {"ok", fence, since, expires_at}, {"held", HGETALL of the leader}, or {"corrupt", fence}
var acquireScript = redis.NewScript(stampLua + `
local old = redis.call('HMGET', KEYS[1], 'fence', 'expires_at')
local fence = 0
if redis.call('EXISTS', KEYS[1]) == 1 then
  fence = tonumber(old[1])
  if not fence then
    return {'corrupt', tostring(old[1] or '')}
  end
  if old[2] and old[2] > stamp(now) and old[1] ~= ARGV[2] then
    return {'held', redis.call('HGETALL', KEYS[1])}
  end
end
local reply = {'ok', string.format('%d', fence + 1), stamp(now), stamp(now + tonumber(ARGV[1]))}
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'fence', reply[2], 'since', reply[3], 'expires_at', reply[4], 'writes', '0', 'events', '0')
for i = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
return reply
`)

// writeScript does all operations of a write if the lease is still the caller's, and renews or releases it.
//
// A write whose answer got lost may be sent again, and may even arrive after the next one: it has a number, and one
// that is not above the last one's does nothing. Events have numbers as well, so that the write that is made in its stead
// adds only those that are not there yet.
//
// KEYS[1] -> the leader
// KEYS[2...] -> the keys that operations name by their place here
// ARGV[1] -> fence of the lease
// ARGV[2] -> since of the lease: a fence alone may come again when all keys have expired
// ARGV[3] -> number of the write under this lease, from 1
// ARGV[4] -> how long the lease goes on, in milliseconds; "0" releases it
// ARGV[5] -> number of events known to be written under this lease
// ARGV[6...] -> operations, each: command, place of its key, number of further arguments, these
// Output: "ok", "fenced", "lost" or "late"
var writeScript = redis.NewScript(stampLua + `
local leader = redis.call('HMGET', KEYS[1], 'fence', 'since', 'writes', 'events')
if not leader[1] then
  return 'lost'
elseif leader[1] ~= ARGV[1] or leader[2] ~= ARGV[2] then
  return 'fenced'
end
local writes, events = tonumber(leader[3]), tonumber(leader[4])
local number = tonumber(ARGV[3])
if number == writes then
  return 'ok'
elseif number < writes then
  return 'late'
end
local event = tonumber(ARGV[5])
local i = 6
while i <= #ARGV do
  local command, key, n = ARGV[i], KEYS[tonumber(ARGV[i + 1])], tonumber(ARGV[i + 2])
  local wanted = true
  if command == 'XADD' then
    event = event + 1
    wanted = event > events
  end
  if wanted then
    redis.call(command, key, unpack(ARGV, i + 3, i + 2 + n))
  end
  i = i + 3 + n
end
local expires = ''
if ARGV[4] ~= '0' then
  expires = stamp(now + tonumber(ARGV[4]))
end
redis.call('HSET', KEYS[1], 'writes', ARGV[3], 'events', string.format('%d', math.max(event, events)), 'expires_at', expires)
return 'ok'
`)
