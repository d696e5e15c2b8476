/// The letters and digits of a text, which a system's changes to the text preserve.
///
/// Instances strip tags, mask digits, replace quotes and dashes, collapse whitespace and truncate. None of that changes the
/// letters, except that truncation shortens them.
public struct TextLikeness: Sendable, Hashable {
    private let letters: [Character]
    private let digits: [Character]
    /// The least letters of a truncated text, so that it does not match every text with the same beginning.
    private static let minTruncated = 40

    public init(_ text: String) {
        var letters: [Character] = []
        var digits: [Character] = []
        var word: [Character] = []
        func end() {
            letters += Self.unmasked(word)
            word = []
        }
        for character in Self.untagged(Self.decoded(text)) {
            if let letter = Self.symbols[character] {
                word += letter
            } else if character.isASCII ? character.isLetter : character.isLetter && !character.isNumber {
                word += Array(character.lowercased())
            } else {
                if character.isNumber { digits.append(character) }
                end()
            }
        }
        end()
        (self.letters, self.digits) = (letters, digits)
    }

    /// Whether the other text may be this text as a system has stored it. Digits may be masked, but not changed.
    public func covers(_ other: TextLikeness) -> Bool {
        guard !other.letters.isEmpty, other.digits.isSubsequence(of: digits) else { return false }
        if other.letters == letters { return true }
        return other.letters.count >= Self.minTruncated && letters.starts(with: other.letters)
    }

    /// Whether the other text is part of this one.
    public func includes(_ other: TextLikeness) -> Bool {
        guard !other.letters.isEmpty, other.letters.count <= letters.count, other.digits.isSubsequence(of: digits) else {
            return false
        }
        return letters.firstRange(of: other.letters) != nil
    }

    private static let symbols: [Character: [Character]] = ["©": ["c"], "®": ["r"], "™": ["t", "m"]]

    private static let entities: [String: String] = [
        "lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'", "nbsp": " ", "copy": "©", "reg": "®", "trade": "™",
    ]

    /// Decodes entities; those of punctuation become spaces. Looks at scalars: the `;` before an accent is one character with it.
    private static func decoded(_ text: String) -> String {
        var result = ""
        var rest = Substring(text).unicodeScalars
        while let mark = rest.firstIndex(of: "&") {
            result += Substring(rest[..<mark])
            let after = rest[rest.index(after: mark)...]
            guard let end = after.prefix(10).firstIndex(of: ";") else {
                result += "&"
                rest = after
                continue
            }
            let name = after[..<end]
            if let known = entities[String(name)] {
                result += known
            } else if name.first == "#", let scalar = Self.scalar(Substring(name.dropFirst())) {
                result.unicodeScalars.append(scalar)
            } else {
                result += " "
            }
            rest = after[after.index(after: end)...]
        }
        return result + Substring(rest)
    }

    private static func scalar(_ code: Substring) -> Unicode.Scalar? {
        let number = code.first == "x" || code.first == "X" ? UInt32(code.dropFirst(), radix: 16) : UInt32(code)
        return number.flatMap(Unicode.Scalar.init)
    }

    /// Removes what looks like a tag: `<b>`, `</b>`, `<br/>`, `<a href=…>`.
    private static func untagged(_ text: String) -> String {
        guard text.contains("<") else { return text }
        var result = ""
        var rest = Substring(text)
        while let start = rest.firstIndex(of: "<") {
            result += rest[..<start]
            let after = rest[rest.index(after: start)...]
            guard let first = after.first, first.isASCII, first.isLetter || first == "/" || first == "!" else {
                result += "<"
                rest = after
                continue
            }
            // Without an end there is no tag in the rest either: it is not searched again at each `<`.
            guard let end = after.firstIndex(of: ">") else { return result + "<" + after }
            result += " "
            rest = after[after.index(after: end)...]
        }
        return result + rest
    }

    /// A word without the letters of masked digits: `incxxxxxxx` becomes `inc`.
    private static func unmasked(_ word: [Character]) -> [Character] {
        guard word.contains("x") else { return word }
        var result: [Character] = []
        var run = 0
        for letter in word + [" "] {
            if letter == "x" {
                run += 1
                continue
            }
            if run < 3, run < word.count { result += Array(repeating: "x", count: run) }
            run = 0
            if letter != " " { result.append(letter) }
        }
        return result
    }
}

extension [Character] {
    fileprivate func isSubsequence(of other: [Character]) -> Bool {
        var rest = self[...]
        for character in other where rest.first == character { rest = rest.dropFirst() }
        return rest.isEmpty
    }
}
