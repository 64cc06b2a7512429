package reference

// AnyVersion is the range that all versions are in, also those before a release.
const AnyVersion = ">0.0.0-0"

func IsVersion(version, wanted string) bool { return version == wanted }
