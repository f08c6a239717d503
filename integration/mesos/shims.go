package mesosrig

import (
	"debug/elf"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shims are C sources of stand-ins for libraries that Mesos' library is linked against and today's systems lack: OpenSSL
// 1.0 and the Python 2 interpreter. A master or an agent without TLS never calls either, so each function is an empty one
// and only has to be there.
type shims struct {
	opensslC, opensslMap string // the map gives each function the version it is asked for by
	pythonC              string
}

// pythonData are the wanted names of Python 2 that are data, not functions.
var pythonData = []string{"PyExc_Exception", "PyExc_TypeError", "_Py_NoneStruct"}

// shimsFor writes the stand-ins for all that the library at path wants.
func shimsFor(path string) (shims, error) {
	file, err := elf.Open(path)
	if err != nil {
		return shims{}, fmt.Errorf("read library: %w", err)
	}
	defer file.Close()
	symbols, err := file.ImportedSymbols()
	if err != nil {
		return shims{}, fmt.Errorf("read symbols of library: %w", err)
	}
	var s shims
	openssl := map[string][]string{}
	for _, symbol := range symbols {
		switch {
		case strings.HasPrefix(symbol.Version, "OPENSSL"):
			openssl[symbol.Version] = append(openssl[symbol.Version], symbol.Name)
			s.opensslC += emptyFunction(symbol.Name)
		case slices.Contains(pythonData, symbol.Name):
			s.pythonC += fmt.Sprintf("void* %s[64];\n", symbol.Name)
		case strings.HasPrefix(symbol.Name, "Py"), strings.HasPrefix(symbol.Name, "_Py"):
			s.pythonC += emptyFunction(symbol.Name)
		}
	}
	s.opensslMap = versionMap(openssl)
	return s, nil
}

func emptyFunction(name string) string {
	return fmt.Sprintf("void* %s(void) { return 0; }\n", name)
}

// versionMap writes a linker's version script: each version has its symbols and builds on the version before it.
func versionMap(symbols map[string][]string) string {
	var text strings.Builder
	previous, local := "", " local: *;"
	for _, version := range slices.Sorted(maps.Keys(symbols)) {
		fmt.Fprintf(&text, "%s { global: %s;%s }%s;\n", version, strings.Join(symbols[version], "; "), local, previous)
		previous, local = " "+version, ""
	}
	return text.String()
}
