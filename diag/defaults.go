package diag

// DefaultLevel returns the level of findings with code c. A setting of the user replaces it.
func (c Code) DefaultLevel() Level {
	switch c {
	case Immutable, Shrunk:
		return LevelError
	case UnpinnedImage, Encrypted, SubjectsStay, SelectorKept, UnreadableText, NoEffectHere, RulesSkipped:
		return LevelInfo
	}
	return LevelWarning
}

// NeedsConsumer reports whether findings with code c need the resources of a consumer, which a
// Component lacks when it is built as a root.
func (c Code) NeedsConsumer() bool {
	return c == TargetMatchesNothing || c == PatchChangesNothing || c == NoSuchImage
}

// ByPlace reports whether two findings with code c at the same place are the same finding: their
// texts may differ in the names of the roots that share the file.
func (c Code) ByPlace() bool { return c >= LeftReference && c <= SubjectMoved }
