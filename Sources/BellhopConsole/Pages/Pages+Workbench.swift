import BellhopAgent
import BellhopCore
import BellhopRules

extension Pages {
    /// The text that a person entered in the workbench, and the result of checking, testing or saving it.
    struct WorkbenchResult {
        var text: String
        /// The tag of the text that was edited.
        var tag: String
        var problems: [Diagnostic] = []
        var isChecked = false
        var tests: [RuleTestResult]?
        var refusal: Problem?
    }

    static func workbench(
        _ context: PageContext, _ name: String, _ result: WorkbenchResult? = nil
    ) async throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let bench = try await Workbench(context.call(), rule: name)
        let result = result ?? inOtherMode(context, bench)
        let text = result?.text ?? bench.text
        let address = "/rules/" + PercentEncoding.encode(name)
        let form: HTML = """
            <p><a href="\(address)">\(name)</a> · <code>\(bench.path)</code></p>
            \(outcome(context, result))
            <form method="post" action="\(address)/workbench">\(context.formToken)
            <input type="hidden" name="tag" value="\(result?.tag ?? bench.tag)">
            \(editor(context, text))</form>\(note(context))
            """
        return page(
            context, "\(t("Workbench")) \(name)", status: result?.refusal?.status ?? 200,
            form + listing(context, text, of: bench.path, result) + changes(context, bench, text))
    }

    /// The text with the mode in the address; nil without a mode there.
    private static func inOtherMode(_ context: PageContext, _ bench: Workbench) -> WorkbenchResult? {
        guard let mode = context.request.value("mode").flatMap(ModeEdit.Mode.init(rawValue:)), let rule = bench.rule else {
            return nil
        }
        var result = WorkbenchResult(text: bench.text, tag: bench.tag)
        if let text = ModeEdit.text(bench.text, rule: rule, mode: mode) {
            result.text = text
        } else {
            result.refusal = Problem(422, "The mode of this rule can only be changed by hand.")
        }
        return result
    }

    /// The text to edit, with buttons to check, test, back-test and save it.
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
            \(field("since", t("Back-test since"), context.request.field("since") ?? "7d", hint: "7d"))
            """
    }

    /// Why this visitor cannot save, and what to do instead.
    static func note(_ context: PageContext) -> HTML {
        guard let refusal = Workbench.refusal(context.view, context.visitor) else { return "" }
        return "<p>\(context.t("Commit the file yourself.")) \(context.t.sentence(refusal))</p>"
    }

    /// The result in a few words.
    static func outcome(_ context: PageContext, _ result: WorkbenchResult?) -> HTML {
        let t = context.t
        guard let result else { return "" }
        if let refusal = result.refusal { return "<p class=\"bad\" role=\"alert\">\(t.sentence(refusal.detail))</p>" }
        if let tests = result.tests {
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
        guard result.isChecked else { return "" }
        let errors = result.problems.count { $0.severity == .error }
        if errors == 0 { return "<p role=\"status\" class=\"good\">\(t("The rules are valid."))</p>" }
        let list = result.problems.prefix(20).map { problem -> HTML in "<li>\(problem.inOneLine)</li>" }
        return "<div role=\"alert\" class=\"bad\"><p>\(t("Errors")): \(errors)</p><ul>\(list)</ul></div>"
    }

    /// The text with line numbers, and each problem below its line.
    static func listing(_ context: PageContext, _ text: String, of path: String, _ result: WorkbenchResult?) -> HTML {
        guard let result, !result.problems.isEmpty else { return "" }
        let t = context.t
        var elsewhere: [HTML] = []
        var byLine: [Int: [Diagnostic]] = [:]
        for problem in result.problems {
            if let place = problem.place, place.file == path {
                byLine[place.line, default: []].append(problem)
            } else {
                elsewhere.append("<li class=\"bad\">\(problem.inOneLine)</li>")
            }
        }
        var lines: HTML = ""
        // By code points: for Swift, CR and LF are one character.
        for (number, line) in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
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
        guard !text.hasBytes(of: bench.text) else { return "" }
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

    /// Carries out the command of the workbench's form.
    static func tryRule(_ context: PageContext, _ name: String) async throws(Problem) -> ConsoleAnswer {
        let bench = try await Workbench(context.call(), rule: name)
        let text = context.request.entered("text")
        let hasCarriageReturns = bench.text.contains("\r\n")
        var result = WorkbenchResult(
            text: hasCarriageReturns ? text.replacing("\n", with: "\r\n") : text, tag: context.request.entered("tag"))
        do throws(Problem) {
            if let place = try await carryOut(context, bench, &result) { return .seeOther(place) }
        } catch {
            result.refusal = try shown(error)
            result.problems = error.mistakes
        }
        return try await workbench(context, name, result)
    }

    /// Carries out the command of a button. Returns the address of the next page; nil to stay on this page.
    private static func carryOut(
        _ context: PageContext, _ bench: Workbench, _ result: inout WorkbenchResult
    ) async throws(Problem) -> String? {
        switch context.request.entered("command") {
        case "test": result.tests = try await bench.test(result.text)
        case "backtest":
            let job = try await BackTestForm([
                "files": [["file": .string(bench.path), "text": .string(result.text)]], "against": "in-force",
                "since": .string(context.request.entered("since")),
            ]).begin(context.call())
            return "/backtests/" + job.id
        case "save":
            try await bench.save(result.text, over: result.tag)
            // Not to the rule's page: the text may give it another name.
            return "/rules?saved=" + PercentEncoding.encode(bench.path)
        default:
            result.problems = try await bench.check(result.text).all
            result.isChecked = true
        }
        return nil
    }

    /// A problem that can be shown above the entered text.
    ///
    /// - Throws: all other problems.
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
        return try newRule(context, file: "\(folder)/\(String(file)).yaml", WorkbenchResult(text: text, tag: ""), nil)
    }

    /// Carries out the command of a new file's form.
    static func tryNewRule(_ context: PageContext) async throws(Problem) -> ConsoleAnswer {
        let file = context.request.entered("file")
        var result = WorkbenchResult(text: context.request.entered("text"), tag: "")
        var bench: Workbench?
        do throws(Problem) {
            let new = try Workbench(context.call(), newFile: file)
            bench = new
            if let place = try await carryOut(context, new, &result) { return .seeOther(place) }
        } catch {
            result.refusal = try shown(error)
            result.problems = error.mistakes
        }
        return try newRule(context, file: file, result, bench)
    }

    private static func newRule(
        _ context: PageContext, file: String, _ result: WorkbenchResult, _ bench: Workbench?
    ) throws(Problem) -> ConsoleAnswer {
        let t = context.t
        let folders = try context.call().workshop.places.folders.map { folder -> HTML in "<code>\(folder)</code>" }
        let form: HTML = """
            <p>\(t("Rules are read from")) \(folders.joined(by: ", ")).</p>
            \(outcome(context, result))
            <form method="post" action="/workbench">\(context.formToken)
            \(field("file", t("File"), file))\(editor(context, result.text))</form>\(note(context))
            """
        return page(
            context, t("New rule"), status: result.refusal?.status ?? 200,
            form + listing(context, result.text, of: file, result) + (bench.map { changes(context, $0, result.text) } ?? ""))
    }
}
