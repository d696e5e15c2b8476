import BellhopAgent
import BellhopCore
import BellhopRules

extension Pages {
    /// The text that a person entered in the workbench, and the result of the act.
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
        let tried = tried ?? inOtherMode(context, bench)
        let text = tried?.text ?? bench.text
        let address = "/rules/" + PercentText.encoded(name)
        let form: HTML = """
            <p><a href="\(address)">\(name)</a> · <code>\(bench.path)</code></p>
            \(outcome(context, tried))
            <form method="post" action="\(address)/workbench">\(context.formToken)
            <input type="hidden" name="tag" value="\(tried?.tag ?? bench.tag)">
            \(editor(context, text))</form>\(note(context))
            """
        return page(
            context, "\(t("Workbench")) \(name)", status: tried?.refusal?.status ?? 200,
            form + listing(context, text, of: bench.path, tried) + changes(context, bench, text))
    }

    /// The text with the mode that the address asks for; nil if it asks for none.
    private static func inOtherMode(_ context: PageContext, _ bench: Workbench) -> Tried? {
        guard let mode = context.request.value("mode").flatMap(ModeEdit.Mode.init(rawValue:)), let rule = bench.rule else {
            return nil
        }
        var tried = Tried(text: bench.text, tag: bench.tag)
        if let text = ModeEdit.text(bench.text, rule: rule, mode: mode) {
            tried.text = text
        } else {
            tried.refusal = Problem(422, "The mode of this rule can only be changed by hand.")
        }
        return tried
    }

    /// The text to edit, and the buttons that try it.
    static func editor(_ context: PageContext, _ text: String) -> HTML {
        let t = context.t
        let maySave = Workbench.refusal(context.view, context.visitor) == nil
        let save: HTML = maySave ? "<button name=\"command\" value=\"save\">\(t("Save"))</button>" : ""
        return """
            <label for="text">\(t("Text"))</label>
            <textarea id="text" name="text" rows="24" spellcheck="false">\n\(text)</textarea>
            <div class="acts"><button name="command" value="check">\(t("Check"))</button>
            <button name="command" value="test">\(t("Test"))</button>
            <button name="command" value="backtest">\(t("Back-test"))</button>\(save)</div>
            \(field("since", t("Back-test since"), "7d", hint: "7d"))
            """
    }

    /// Why this visitor cannot save, and what to do instead.
    static func note(_ context: PageContext) -> HTML {
        guard let refusal = Workbench.refusal(context.view, context.visitor) else { return "" }
        return "<p>\(context.t("Commit the file yourself.")) \(context.t.sentence(refusal))</p>"
    }

    /// The result in a few words.
    static func outcome(_ context: PageContext, _ tried: Tried?) -> HTML {
        let t = context.t
        guard let tried else { return "" }
        if let refusal = tried.refusal { return "<p class=\"bad\" role=\"alert\">\(t.sentence(refusal.detail))</p>" }
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
        if errors == 0 { return "<p role=\"status\" class=\"good\">\(t("The rules are valid."))</p>" }
        let list = tried.problems.prefix(20).map { problem -> HTML in "<li>\(problem.inOneLine)</li>" }
        return "<div role=\"alert\" class=\"bad\"><p>\(t("Errors")): \(errors)</p><ul>\(list)</ul></div>"
    }

    /// The text with line numbers, and each problem below its line.
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

    static func changes(_ context: PageContext, _ bench: Workbench, _ text: String) -> HTML {
        let t = context.t
        guard !text.utf8.elementsEqual(bench.text.utf8) else { return "" }
        return """
            <h2>\(t("Difference"))</h2>\(difference(bench.difference(to: text)))
            <details><summary>\(t("The whole file to commit"))</summary><pre tabindex="0">\(text)</pre></details>
            """
    }

    /// A difference in the form of `diff -u`.
    static func difference(_ text: String) -> HTML {
        // The names of the files come before the first range.
        var isInRange = false
        // By code points: for Swift, CR and LF are one character.
        let lines = text.unicodeScalars.split(separator: "\n").map { scalars -> HTML in
            let line = String(scalars)
            isInRange = isInRange || line.hasPrefix("@@")
            if !isInRange { return "\(line)\n" }
            return line.hasPrefix("+")
                ? "<ins>\(String(line))</ins>\n" : line.hasPrefix("-") ? "<del>\(String(line))</del>\n" : "\(String(line))\n"
        }
        return "<pre class=\"diff\" tabindex=\"0\">\(lines)</pre>"
    }

    /// Carries out what the form of the workbench asks for.
    static func tryRule(_ context: PageContext, _ name: String) async throws(Problem) -> ConsoleAnswer {
        let bench = try await Workbench(context.call(), rule: name)
        let text = entered("text", context)
        let hasCarriageReturns = bench.text.contains("\r\n")
        var tried = Tried(
            text: hasCarriageReturns ? text.replacing("\n", with: "\r\n") : text, tag: entered("tag", context))
        do throws(Problem) {
            if let place = try await carryOut(context, bench, &tried) { return .seeOther(place) }
        } catch {
            tried.refusal = try shown(error)
        }
        return try await workbench(context, name, tried)
    }

    /// The value of a form's field. Browsers send line ends as CRLF.
    private static func entered(_ name: String, _ context: PageContext) -> String {
        (context.request.form.first { $0.name == name }?.value ?? "").replacing("\r\n", with: "\n")
    }

    /// Carries out the command of a button of the workbench. Returns the address of the next page; nil to stay on this one.
    private static func carryOut(
        _ context: PageContext, _ bench: Workbench, _ tried: inout Tried
    ) async throws(Problem) -> String? {
        switch entered("command", context) {
        case "test": tried.tests = try await bench.test(tried.text)
        case "backtest":
            let job = try await BackTestForm([
                "files": [["file": .string(bench.path), "text": .string(tried.text)]], "against": "in-force",
                "since": .string(entered("since", context)),
            ]).begin(context.call())
            return "/backtests/" + job.id
        case "save":
            try await bench.save(tried.text, over: tried.tag)
            return bench.rule.map { "/rules/" + PercentText.encoded($0) } ?? "/rules?saved=" + PercentText.encoded(bench.path)
        default:
            tried.problems = try await bench.check(tried.text).all
            tried.isChecked = true
        }
        return nil
    }

    /// A problem that is shown above the entered text.
    ///
    /// - Throws: any other one.
    private static func shown(_ problem: Problem) throws(Problem) -> Problem {
        guard [403, 409, 412, 413, 422, 429, 503].contains(problem.status) else { throw problem }
        return problem
    }

    // A new file.

    /// The workbench of a file that does not exist yet.
    static func newRule(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let wanted = context.request.value("name") ?? ""
        let name = wanted.isEmpty ? "new-rule" : wanted
        let folder = try context.call().workshop.places.folders.first ?? "rules"
        let text = """
            rule: \(name)
            description: What it is for.
            mode: shadow   # records what it would do; without this line it does it
            on: task_created
            when: task.title.contains("mail")
            do:
              - log: {text: "${{ task.number }} ${{ task.title }}"}

            """
        let file = name.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) ? $0 : "-" }
        return try newRule(context, file: "\(folder)/\(String(file)).yaml", Tried(text: text, tag: ""), nil)
    }

    /// Carries out what the form of a new file asks for.
    static func tryNewRule(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let file = entered("file", context)
        var tried = Tried(text: entered("text", context), tag: "")
        var bench: Workbench?
        do throws(Problem) {
            let new = try Workbench(context.call(), newFile: file)
            bench = new
            if let place = try await carryOut(context, new, &tried) { return .seeOther(place) }
        } catch {
            tried.refusal = try shown(error)
        }
        return try newRule(context, file: file, tried, bench)
    }

    private static func newRule(
        _ context: PageContext, file: String, _ tried: Tried, _ bench: Workbench?
    ) throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let folders = try context.call().workshop.places.folders.map { folder -> HTML in "<code>\(folder)</code>" }
        let form: HTML = """
            <p>\(t("Rules are read from")) \(folders.joined(by: ", ")).</p>
            \(outcome(context, tried))
            <form method="post" action="/workbench">\(context.formToken)
            \(field("file", t("File"), file))\(editor(context, tried.text))</form>\(note(context))
            """
        return page(
            context, t("New rule"), status: tried.refusal?.status ?? 200,
            form + listing(context, tried.text, of: file, tried) + (bench.map { changes(context, $0, tried.text) } ?? ""))
    }
}
