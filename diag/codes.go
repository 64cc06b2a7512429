package diag

// The codes of messages. Package messages has a page for each.
const (
	// Input: files and references to them.
	General               Code = "KF0100"
	NoSuchFile            Code = "KF0101"
	OutsideDirectory      Code = "KF0102"
	NotReadable           Code = "KF0103"
	NoKustomization       Code = "KF0104"
	SeveralKustomizations Code = "KF0105"
	NotAFile              Code = "KF0106"
	AbsolutePath          Code = "KF0107"
	Cycle                 Code = "KF0108"
	NoRevision            Code = "KF0109"

	// Fields of Kustomizations and other configuration.
	UnknownField Code = "KF0110"
	WrongType    Code = "KF0111"
	WrongKind    Code = "KF0112"
	Deprecated   Code = "KF0113"
	MissingField Code = "KF0114"
	BadValue     Code = "KF0115"
	Exclusive    Code = "KF0116"
	Misplaced    Code = "KF0117"
	ListedTwice  Code = "KF0118"
	BadSchema    Code = "KF0119"

	// YAML and required fields of resources.
	InvalidYAML   Code = "KF0120"
	RepeatedKey   Code = "KF0121"
	IgnoredText   Code = "KF0122"
	BadEncoding   Code = "KF0123"
	Nameless      Code = "KF0124"
	OddValue      Code = "KF0125"
	NoResource    Code = "KF0126"
	BadList       Code = "KF0127"
	ConflictMarks Code = "KF0128"
	EmptyFile     Code = "KF0129"

	// Patches.
	NoPatchTarget        Code = "KF0130"
	TargetMatchesNothing Code = "KF0131"
	PatchChangesNothing  Code = "KF0132"
	SeveralPatchTargets  Code = "KF0133"
	PatchForm            Code = "KF0134"
	JSONPatchPath        Code = "KF0135"
	JSONPatchOperation   Code = "KF0136"
	JSONPatchTest        Code = "KF0137"
	PatchTypes           Code = "KF0138"
	BadSelector          Code = "KF0139"

	// Generators.
	BadLiteral      Code = "KF0140"
	DuplicateKey    Code = "KF0141"
	BadFileArgument Code = "KF0142"
	BadEnvFile      Code = "KF0143"
	NothingToMerge  Code = "KF0144"
	ExistsAlready   Code = "KF0145"
	CannotMerge     Code = "KF0146"
	HashDiffers     Code = "KF0148"

	// Replacements and vars.
	NoReplacementSource       Code = "KF0150"
	SeveralReplacementSources Code = "KF0151"
	ReplacementSourceField    Code = "KF0152"
	ReplacementTargetField    Code = "KF0153"
	ReplacementTargetNothing  Code = "KF0154"
	ReplacementOptions        Code = "KF0155"
	ReplacementForm           Code = "KF0156"
	UnusedVar                 Code = "KF0157"
	VarSource                 Code = "KF0158"
	VarTwice                  Code = "KF0159"

	// Names, references and the other transformers.
	SameID            Code = "KF0160"
	AmbiguousName     Code = "KF0161"
	NoSuchImage       Code = "KF0162"
	NoReplicas        Code = "KF0163"
	NamespaceSubjects Code = "KF0164"
	UnfitField        Code = "KF0165"
	BadFieldPath      Code = "KF0166"
	SortOrder         Code = "KF0167"
	InvalidName       Code = "KF0168"

	// Compositions.
	NoComposition          Code = "KF0170"
	ImportsKustomization   Code = "KF0171"
	NoOverrideTarget       Code = "KF0172"
	OverrideChangesNothing Code = "KF0173"
	DeclaredTwice          Code = "KF0174"
	OrderIncomplete        Code = "KF0175"
	OrderUnknown           Code = "KF0176"
	NotAnItem              Code = "KF0177"
	ItemName               Code = "KF0178"
	OldWords               Code = "KF0179"

	// Configuration of functions, and catalogs.
	UnknownBuiltin   Code = "KF0180"
	TwoFunctions     Code = "KF0181"
	BadFunction      Code = "KF0182"
	OldFunctionPlace Code = "KF0183"
	UnusedFunction   Code = "KF0184"
	ValidatorChanged Code = "KF0185"
	BadReference     Code = "KF0186"
	Encrypted        Code = "KF0187"
	BadCatalog       Code = "KF0188"
	OldCatalog       Code = "KF0189"

	// Charts, lock files and runs.
	BadChart        Code = "KF0190"
	BadValues       Code = "KF0191"
	NoReleaseName   Code = "KF0192"
	BadLock         Code = "KF0193"
	Unlocked        Code = "KF0194"
	StrictWarnings  Code = "KF0195"
	NoRoots         Code = "KF0196"
	BadConfig       Code = "KF0197"
	PlanDiffers     Code = "KF0198"
	InvalidResource Code = "KF0199"

	// Command line.
	Usage          Code = "KF0200"
	UnknownFlag    Code = "KF0201"
	FlagValue      Code = "KF0202"
	UnknownCommand Code = "KF0203"
	Arguments      Code = "KF0204"

	// Tests of rendered output.
	BadTest    Code = "KF0210"
	TestFailed Code = "KF0211"

	// What kustomize lets pass (package lint).
	LeftReference     Code = "KF0220"
	MissingObject     Code = "KF0221"
	LostItems         Code = "KF0222"
	DirectiveAsData   Code = "KF0223"
	AddOverwrites     Code = "KF0224"
	HiddenSchema      Code = "KF0225"
	ClusterScoped     Code = "KF0226"
	ChartNamespace    Code = "KF0227"
	NamespaceRenamed  Code = "KF0228"
	SubjectsStay      Code = "KF0229"
	SelectorKept      Code = "KF0230"
	PeerSelector      Code = "KF0231"
	SelectorUnmatched Code = "KF0232"
	FileReplaced      Code = "KF0233"
	QuotedValue       Code = "KF0234"
	TooLargeObject    Code = "KF0235"
	UnreadableText    Code = "KF0236"
	NoEffectHere      Code = "KF0237"
	EarlierName       Code = "KF0238"
	SubjectMoved      Code = "KF0239"

	// Danger of a change, in diff.
	Immutable     Code = "KF0240"
	Shrunk        Code = "KF0241"
	LosesData     Code = "KF0242"
	NewPrivilege  Code = "KF0243"
	UnpinnedImage Code = "KF0244"

	// CEL rules, in validate.
	RulesSkipped Code = "KF0248"
	RuleViolated Code = "KF0249"

	// Trust.
	Denied           Code = "KF0300"
	Uncatalogued     Code = "KF0301"
	NotPinned        Code = "KF0302"
	UntrustedCatalog Code = "KF0303"
	NoDigest         Code = "KF0304"
	Unsandboxed      Code = "KF0305"
	GrantDenied      Code = "KF0306"
	BadProgram       Code = "KF0307"
	Expired          Code = "KF0308"
	UnsafeConfig     Code = "KF0309"
	HelmDisabled     Code = "KF0310"
	Unsupported      Code = "KF0311"

	// Verification.
	Unverified     Code = "KF0400"
	DigestMismatch Code = "KF0401"
	PinMismatch    Code = "KF0402"
	BadSignature   Code = "KF0403"
	InDevelopment  Code = "KF0404"

	// Functions.
	FunctionFailed   Code = "KF0500"
	FunctionTimeout  Code = "KF0501"
	FunctionAnswer   Code = "KF0502"
	FunctionResults  Code = "KF0503"
	NoEngine         Code = "KF0504"
	FunctionWarning  Code = "KF0505"
	NotDeterministic Code = "KF0506"

	// Limits.
	Limit         Code = "KF0600"
	TooLarge      Code = "KF0601"
	FunctionLimit Code = "KF0602"
	TooMuch       Code = "KF0603"

	// Fetching.
	NotFetched    Code = "KF0700"
	Offline       Code = "KF0701"
	Refused       Code = "KF0702"
	NotLocked     Code = "KF0703"
	FetchTimeout  Code = "KF0704"
	NoCredentials Code = "KF0705"
	NotVendored   Code = "KF0706"
	CacheFolder   Code = "KF0707"
	CacheDamaged  Code = "KF0708"
	SharedCache   Code = "KF0709"
	NotPulled     Code = "KF0710"

	// Output.
	OutputRefused   Code = "KF0901"
	OutputLocked    Code = "KF0902"
	OutputLost      Code = "KF0903"
	OutputDiffers   Code = "KF0904"
	SecretsInOutput Code = "KF0905"
	Unwatched       Code = "KF0906"
	FilesVanish     Code = "KF0907"
	EditConflict    Code = "KF0908"
	NotInPlace      Code = "KF0909"
	Interrupted     Code = "KF0910"
	Bug             Code = "KF0990"
	Stopped         Code = "KF0991"
)
