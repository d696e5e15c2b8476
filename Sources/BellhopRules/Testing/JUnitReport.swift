import BellhopCore

/// The results of tests as JUnit's XML, which build servers read: a suite for each file, a case for each test.
public struct JUnitReport {
    private let results: [RuleTestResult]

    public init(_ results: [RuleTestResult]) { self.results = results }

    public var xml: String {
        let failures = results.count { !$0.passed }
        let suites = results.map(\.file).unique().map { file in
            let own = results.filter { $0.file == file }
            let cases = own.map { self.xml(of: $0) }.joined()
            return """
                  <testsuite name="\(Self.escaped(file))" tests="\(own.count)" failures="\(own.count { !$0.passed })">
                \(cases)  </testsuite>

                """
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="bellhop test" tests="\(results.count)" failures="\(failures)">
            \(suites.joined())</testsuites>

            """
    }

    private func xml(of result: RuleTestResult) -> String {
        let head =
            "    <testcase name=\"\(Self.escaped(result.name))\" classname=\"\(Self.escaped(result.file))\" "
            + "file=\"\(Self.escaped(result.file))\" line=\"\(result.line)\""
        guard let first = result.problems.first else { return head + "/>\n" }
        let text = result.problems.map { $0.rendered(colour: false) }.joined(separator: "\n\n")
        return head
            + ">\n      <failure message=\"\(Self.escaped(first.message))\">\(Self.escaped(text))</failure>\n    </testcase>\n"
    }

    /// Text for XML 1.0, in an element or an attribute; characters that XML cannot hold become `�`.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n", "\t", "\r": escaped += "&#\(scalar.value);"
            case "\u{0}"..<"\u{20}", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
