package diag

import "fmt"

// A Level is the severity of a finding. Higher levels are more severe. The zero value is
// [LevelOff].
type Level uint8

// The levels of findings.
const (
	LevelOff Level = iota // not reported
	LevelInfo
	LevelWarning
	LevelError
)

var levelNames = [...]string{"off", "info", "warning", "error"}

// String returns the name of l, as in settings: "off", "info", "warning" or "error".
func (l Level) String() string {
	if int(l) >= len(levelNames) {
		return fmt.Sprintf("Level(%d)", uint8(l))
	}
	return levelNames[l]
}

// ParseLevel returns the level with the given name.
func ParseLevel(name string) (Level, error) {
	for l, n := range levelNames {
		if n == name {
			return Level(l), nil
		}
	}
	return LevelOff, BadValue.Errorf("unknown level %q: want error, warning, info or off", name)
}
