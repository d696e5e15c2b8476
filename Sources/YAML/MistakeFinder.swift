/// Finds the common mistake behind an error and the corrected line.
///
/// A corrected line is used only if reading the corrected text again finds no error in that line.
struct MistakeFinder {
    private let source: SourceText
    private let limits: Limits
    private let keys: KnownKeys

    /// How often the text may still be read again. Large texts are read less often.
    private var attempts: Int

    init(_ source: SourceText, _ limits: Limits, _ keys: KnownKeys = KnownKeys()) {
        (self.source, self.limits, self.keys) = (source, limits, keys)
        attempts = min(100, (4 << 20) / max(1, source.bytes.count))
    }

    /// The error, described as the mistake that caused it, if one is found.
    mutating func explained(_ error: YAMLError) -> YAMLError {
        guard error.corrected == nil, error.code.mayBeMistake else { return error }
        for mistake in Mistakes(source: source, error: error, keys: keys).all where attempts > 0 {
            attempts -= 1
            if isFixed(by: mistake.corrected, in: mistake.lines) { return mistake.described(in: error) }
        }
        return error
    }

    /// True if the text with these lines corrected has no error in them.
    func isFixed(by corrected: String, in lines: ClosedRange<Int>) -> Bool {
        let start = source.lineOffsets(lines.lowerBound).lowerBound
        let end = source.lineOffsets(lines.upperBound).upperBound
        let patched = SourceText(source.bytes[..<start] + Array(corrected.utf8) + source.bytes[end...])
        let last = lines.lowerBound + corrected.utf8.count { $0 == ASCII.newline }
        let errors = compose(patched, limits: limits).errors
        // The error for an unclosed bracket is further down, but its context is the line where the bracket opens.
        return errors.allSatisfy { error in
            error.range.start.line > last && error.context.map { $0.line > last || $0.line < lines.lowerBound } ?? true
                || error.range.start.line < lines.lowerBound && !error.isFatal
        }
    }
}

extension YAMLError.Code {
    /// True if the error may be caused by a mistake within a line.
    var mayBeMistake: Bool {
        switch self {
        case .tooLarge, .notUTF8, .utf16, .controlCharacter, .lineSeparator, .outOfMemory, .tagMismatch, .recursiveAlias,
            .aliasExpansion, .tooManyNodes, .tooDeep, .duplicateKey, .mergeKey, .tooManyErrors, .directive, .keyNotText:
            false
        case .tabIndentation, .indentation, .missingColon, .strayColon, .strayDash, .strayQuestionMark, .strayText, .missingValue,
            .unclosedQuote, .unclosedBracket, .blockHeader, .badEscape, .syntax, .colonInValue, .leadingCharacter,
            .textAfterQuote, .textAfterBracket, .cutByComment, .templateInFlow, .commaInFlow, .commentNeedsSpace, .unknownTag,
            .unknownAlias, .anchorName, .emptyKey, .version:
            true
        }
    }
}
