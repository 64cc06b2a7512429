package krm

// FieldPath prints a path of mapping keys (string) and list indexes (int) as messages show it: "patches[2].target.kind".
func FieldPath(path []any) string { return printPath(path) }
