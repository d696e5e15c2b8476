/// An error in a YAML text: its place, its description, and how to fix it.
public struct YAMLError: Error, Sendable, Hashable {
    /// A second place that explains the first, such as the key that a duplicate repeats.
    public struct Note: Sendable, Hashable {
        public let range: SourceRange
        public let message: String
    }

    public let code: Code
    public let message: String
    public let range: SourceRange
    public var help: String?

    /// The corrected line, without its line break; several lines if needed. It is only set if the text, read again with this
    /// correction, has no error there.
    public var corrected: String?

    public var note: Note?

    /// The start of the construct that libyaml could not finish reading; nil for all other errors.
    var context: Position?

    /// Whether reading stopped at this error.
    var isFatal = false

    init(_ code: Code, _ message: String, at range: SourceRange, help: String? = nil, corrected: String? = nil, note: Note? = nil)
    {
        self.code = code
        self.message = message
        self.range = range
        self.help = help
        self.corrected = corrected
        self.note = note
    }

    public var position: Position { range.start }
}

/// All errors of a text, in text order. Never empty.
public struct YAMLErrors: Error, Sendable, Hashable {
    public let errors: [YAMLError]
}

extension YAMLError {
    /// The codes of errors.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        // The text itself.
        case tooLarge = "too-large"
        case notUTF8 = "not-utf8"
        case utf16 = "utf-16"
        case controlCharacter = "control-character"
        case lineSeparator = "line-separator"

        // Layout.
        case tabIndentation = "tab-indentation"
        case indentation = "indentation"
        case missingColon = "missing-colon"
        case strayColon = "stray-colon"
        case strayDash = "stray-dash"
        case strayQuestionMark = "stray-question-mark"
        case strayText = "stray-text"
        case missingValue = "missing-value"
        case unclosedQuote = "unclosed-quote"
        case unclosedBracket = "unclosed-bracket"
        case blockHeader = "block-header"
        case badEscape = "bad-escape"
        case directive = "directive"
        case version = "yaml-version"
        case syntax = "yaml-syntax"
        case outOfMemory = "out-of-memory"

        // Mistakes in expressions and templates inside YAML.
        case colonInValue = "colon-in-value"
        case leadingCharacter = "leading-character"
        case textAfterQuote = "text-after-quote"
        case textAfterBracket = "text-after-bracket"
        case cutByComment = "cut-by-comment"
        case templateInFlow = "template-in-flow"
        case commaInFlow = "comma-in-flow"
        case commentNeedsSpace = "comment-needs-space"

        // Nodes.
        case unknownTag = "unknown-tag"
        case tagMismatch = "tag-mismatch"
        case unknownAlias = "unknown-alias"
        case recursiveAlias = "recursive-alias"
        case anchorName = "anchor-name"
        case aliasExpansion = "alias-expansion"
        case tooManyNodes = "too-many-nodes"
        case tooDeep = "too-deep"
        case duplicateKey = "duplicate-key"
        case mergeKey = "merge-key"
        case keyNotText = "key-not-text"
        case emptyKey = "empty-key"
        case tooManyErrors = "too-many-errors"
    }
}
