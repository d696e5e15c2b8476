extension Mistakes {
    /// Tabs before the first character, or after a dash.
    func tabs(_ line: LineParts) -> [Mistake] {
        var end = line.line.lowerBound
        while let byte = line.excerpt[end], ASCII.isBlank(byte) || byte == ASCII.dash { end += 1 }
        guard let first = source.bytes[line.line.lowerBound..<end].firstIndex(of: ASCII.tab) else { return [] }
        let place = first..<first + 1
        if line.isBlank {
            let message = "a tab is on an otherwise empty line"
            return [mistake(line, .tabIndentation, message, "delete the tab", at: place, corrected: "")]
        }
        return indents(line).map { indent in
            var corrected = String(repeating: " ", count: indent)
            for byte in source.bytes[line.indentEnd..<end] {
                corrected += byte == ASCII.tab ? " " : String(Unicode.Scalar(byte))
            }
            corrected += line.excerpt.text(end..<line.line.upperBound)
            let message = "tabs cannot be used for indentation"
            return mistake(line, .tabIndentation, message, "indent with spaces", at: place, corrected: corrected)
        }
    }

    /// Possible intended indentations of a line with tabs, likeliest first.
    private func indents(_ line: LineParts) -> [Int] {
        let blanks = source.bytes[line.line.lowerBound..<line.indentEnd]
        let tabs = blanks.count { $0 == ASCII.tab }
        guard tabs > 0 else { return [blanks.count] }
        let widths = [2, 4, 8].map { blanks.count - tabs + tabs * $0 }
        guard let above = lineWithText(above: line.number) else { return widths }
        let column = line.excerpt.isIndicator(ASCII.dash, at: line.indentEnd) ? above.indent : above.contentColumn
        let opensBlock = above.value.isEmpty || above.first == ASCII.bar || above.first == ASCII.greater
        return opensBlock ? [column + 2] + widths : [column] + widths
    }

    /// No-break spaces, as a web page or a word processor gives them, in place of blanks.
    func noBreakSpace(_ line: LineParts) -> Mistake? {
        let bytes = source.bytes[line.line]
        guard let place = bytes.indices.dropLast().first(where: { bytes[$0] == 0xC2 && bytes[$0 + 1] == 0xA0 }) else {
            return nil
        }
        return mistake(
            line, error.code, "here is a no-break space, which YAML does not read as a blank", "write ordinary blanks",
            at: place..<place + 2, corrected: line.excerpt.text(line.line).replacing("\u{A0}", with: " "))
    }

    /// A `#` right after a quote or bracket.
    func comment(_ line: LineParts) -> Mistake? {
        guard error.code == .commentNeedsSpace else { return nil }
        let place = error.range.start.offset
        let corrected = line.excerpt.text(line.line.lowerBound..<place) + " " + line.excerpt.text(place..<line.line.upperBound)
        return mistake(line, error.code, error.message, "put a space before the `#`", corrected: corrected)
    }

    /// A `%YAML` of another version.
    func version(_ line: LineParts) -> Mistake? {
        guard error.code == .version, source.line(line.number).hasPrefix("%YAML") else { return nil }
        return mistake(line, error.code, error.message, error.help ?? "", corrected: "%YAML 1.2")
    }

    /// `rule my-rule`: a line of words among keys, without a colon.
    func missingColon(_ line: LineParts) -> Mistake? {
        guard error.code == .missingColon || error.code == .strayColon else { return nil }
        let here = error.code == .missingColon ? line : lineWithText(above: line.number)
        guard let here, here.key == nil, here.indent == line.indent, here.value.lowerBound == here.indentEnd,
            let first = here.first, ASCII.isWord(first)
        else { return nil }
        let word = source.bytes[here.value].prefix(while: ASCII.isKey).endIndex
        guard here.excerpt[word].isBlankOrEnd else { return nil }
        let rest = here.excerpt.text(word..<here.line.upperBound)
        return mistake(
            here, .missingColon, "this line has no key: a key ends with a colon and a space", "put a colon after the key",
            at: here.value, corrected: here.excerpt.text(here.line.lowerBound..<word) + ":" + rest)
    }

    func lineWithText(above number: Int) -> LineParts? {
        for number in stride(from: number - 1, to: max(0, number - 1 - Self.reach), by: -1) {
            let line = LineParts(source, number)
            if !line.isBlank, line.excerpt[line.indentEnd] != ASCII.hash { return line }
        }
        return nil
    }
}
