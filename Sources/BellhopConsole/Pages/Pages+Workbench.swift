import BellhopAgent
import BellhopCore
import BellhopRules

extension Pages {
    /// What a person did in the workbench, and what came of it.
    struct Tried {
        var text: String
        /// The tag of the text that was edited.
        var tag: String
        var problems: [Diagnostic] = []
        var isChecked = false
        var tests: [RuleTestResult]?
        var refusal: Problem?
    }

    static func workbench(_ context: PageContext, _ name: String, _ tried: Tried? = nil) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let bench = try await Workbench(context.call(), rule: name)
        let text = tried?.text ?? bench.text
        let refusal = Workbench.refusal(context.view, context.visitor)
        let save: HTML = refusal == nil ? "<button name=\"command\" value=\"save\">\(t("Save"))</button>" : ""
        let note: HTML = refusal.map { "<p>\(t("Commit the file by yourself.")) \($0)</p>" } ?? ""
        let form: HTML = """
            <p><a href="/rules/\(PercentText.encoded(bench.rule))">\(bench.rule)</a> · <code>\(bench.path)</code></p>
            \(outcome(context, tried))
            <form method="post" action="/rules/\(PercentText.encoded(bench.rule))/workbench">\(context.formToken)
            <input type="hidden" name="tag" value="\(tried?.tag ?? bench.tag)">
            <label for="text">\(t("Text"))</label>
            <textarea id="text" name="text" rows="24" spellcheck="false">\n\(text)</textarea>
            <div class="acts"><button name="command" value="check">\(t("Check"))</button>
            <button name="command" value="test">\(t("Test"))</button>
            <button name="command" value="backtest">\(t("Back-test"))</button>\(save)</div>
            \(field("since", t("Back-test since"), "7d", hint: "7d"))</form>\(note)
            """
        return page(
            context, "\(t("Workbench")) \(bench.rule)", status: tried?.refusal?.status ?? 200,
            form + listing(context, text, of: bench.path, tried) + changes(context, bench, text))
    }

    /// What was found, in a few words.
    private static func outcome(_ context: PageContext, _ tried: Tried?) -> HTML {
        let t = context.t
        guard let tried else { return "" }
        if let refusal = tried.refusal { return "<p class=\"bad\" role=\"alert\">\(refusal.detail)</p>" }
        if let tests = tried.tests {
            let failed = tests.count { !$0.passed }
            let rows = tests.map { test -> HTML in
                let problems = test.problems.map { problem -> HTML in "<pre tabindex=\"0\">\(problem.rendered())</pre>" }
                return
                    "<li><strong class=\"\(test.passed ? "good" : "bad")\">\(t(test.passed ? "passed" : "failed"))</strong> \(test.name)\(problems)</li>"
            }
            if tests.isEmpty { return "<p role=\"status\">\(t("There are no tests beside this file."))</p>" }
            return
                "<p role=\"status\" class=\"\(failed == 0 ? "good" : "bad")\">\(tests.count - failed) \(t("passed")), \(failed) \(t("failed"))</p><ul>\(rows)</ul>"
        }
        guard tried.isChecked else { return "" }
        let errors = tried.problems.count { $0.severity == .error }
        if errors == 0 { return "<p role=\"status\" class=\"good\">\(t("The rules fit."))</p>" }
        let list = tried.problems.prefix(20).map { problem -> HTML in "<li>\(problem.inOneLine)</li>" }
        return "<div role=\"alert\" class=\"bad\"><p>\(t("Errors")): \(errors)</p><ul>\(list)</ul></div>"
    }

    /// The text with line numbers, and what is wrong below its line.
    static func listing(_ context: PageContext, _ text: String, of path: String, _ tried: Tried?) -> HTML {
        guard let tried, !tried.problems.isEmpty else { return "" }
        let t = context.t
        var elsewhere: [HTML] = []
        var byLine: [Int: [Diagnostic]] = [:]
        for problem in tried.problems {
            if let place = problem.place, place.file == path {
                byLine[place.line, default: []].append(problem)
            } else {
                elsewhere.append("<li class=\"bad\">\(problem.inOneLine)</li>")
            }
        }
        var lines: HTML = ""
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let problems = byLine[number + 1] ?? []
            let mark: HTML = problems.isEmpty ? "<span>" : "<span class=\"bad\">"
            lines += "\(mark)\(number + 1)  \(String(line))</span>\n"
            for problem in problems {
                lines += "<strong class=\"bad\">   ^ \(problem.message)\(problem.help.map { ": \($0)" } ?? "")</strong>\n"
            }
        }
        return "<h2>\(t("What is wrong"))</h2><ul>\(elsewhere)</ul><pre tabindex=\"0\">\(lines)</pre>"
    }

    private static func changes(_ context: PageContext, _ bench: Workbench, _ text: String) -> HTML {
        let t = context.t
        guard text != bench.text else { return "" }
        return """
            <h2>\(t("Difference"))</h2>\(difference(bench.difference(to: text)))
            <details><summary>\(t("The whole file to commit"))</summary><pre tabindex="0">\(text)</pre></details>
            """
    }

    /// A difference in the form of `diff -u`.
    static func difference(_ text: String) -> HTML {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> HTML in
            line.hasPrefix("+")
                ? "<ins>\(String(line))</ins>\n" : line.hasPrefix("-") ? "<del>\(String(line))</del>\n" : "\(String(line))\n"
        }
        return "<pre class=\"diff\" tabindex=\"0\">\(lines)</pre>"
    }

    /// Carries out what the form of the workbench asks for.
    static func tryRule(_ context: PageContext, _ name: String) async throws(Problem) -> ConsoleAnswer {
        let form = context.request.form
        // Browsers send line ends as CRLF.
        func value(_ name: String) -> String { (form.first { $0.name == name }?.value ?? "").replacing("\r\n", with: "\n") }
        let call = context.call()
        let bench = try await Workbench(call, rule: name)
        var tried = Tried(text: value("text"), tag: value("tag"))
        do throws(Problem) {
            switch value("command") {
            case "test": tried.tests = try await bench.test(tried.text)
            case "backtest":
                let job = try await BackTestForm([
                    "files": [["file": .string(bench.path), "text": .string(tried.text)]], "against": "in-force",
                    "since": .string(value("since")),
                ]).begin(call)
                return .seeOther("/backtests/" + job.id)
            case "save":
                try await bench.save(tried.text, over: tried.tag)
                return .seeOther("/rules/" + PercentText.encoded(name))
            default:
                tried.problems = try await bench.check(tried.text).all
                tried.isChecked = true
            }
        } catch {
            guard [409, 412, 413, 422, 429, 503].contains(error.status) else { throw error }
            tried.refusal = error
        }
        return try await workbench(context, name, tried)
    }
}
