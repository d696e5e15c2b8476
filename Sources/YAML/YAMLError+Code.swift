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
