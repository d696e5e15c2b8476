import BellhopAgent
import BellhopCore
import BellhopRules

extension Operations {
    static let backTests: [Operation] = [
        Operation(
            id: "beginBackTest", method: .post, path: "/backtests",
            summary: "Begins a back-test: what rules would have done with the stored events. Its address shows the progress.",
            role: .operator,
            body: .object(
                [
                    ("rules", .list(.text("The rules to count; by default those of `files`, or without files all rules."))),
                    (
                        "files",
                        .list(
                            .object(
                                [("file", .text("The path, as in the list of rules.")), ("text", .text())], isOpen: false))
                    ),
                    ("since", .text("How far back; 7d by default.")),
                    (
                        "scope",
                        .word(
                            BackTestRequest.Scope.allCases.map(\.rawValue),
                            "Which rules run: `beside` (the default), those of `files` and of the other files in force; `alone`, only those of `files`; `all`, only those of `files`, and all rules are counted, even those in force that `files` lack."
                        )
                    ),
                    ("against", .word(["in-force"])), ("coverage", .boolean("Whether to add which parts of the rules ran.")),
                ], optional: ["rules", "files", "scope", "since", "against", "coverage"], isOpen: false),
            content: .json(.named("BackTest")), success: 202, problems: [409]
        ) { call async throws(Problem) in
            let job = try await BackTestForm(call.body).begin(call)
            var answer = ConsoleAnswer.json(job.json(isWhole: false), status: 202)
            answer.fields.append(("Location", "/api/v1/backtests/" + job.id))
            return answer
        },
        Operation(
            id: "backTests", method: .get, path: "/backtests", summary: "The back-tests of the last hour, newest first.",
            role: .viewer, content: .json(.object([("backtests", .list(.named("BackTest")))]))
        ) { call async throws(Problem) in
            .json(["backtests": .array(call.jobs.jobs.map { $0.json(isWhole: false) })])
        },
        Operation(
            id: "backTest", method: .get, path: "/backtests/{backtest}",
            summary: "The progress of a back-test, then its report, as `bellhop backtest --json` prints it.", role: .viewer,
            content: .json(.named("BackTest"))
        ) { call async throws(Problem) in .json(try call.jobs.job(call.path["backtest"] ?? "").json(isWhole: true)) },
        Operation(
            id: "endBackTest", method: .delete, path: "/backtests/{backtest}",
            summary: "Ends a back-test, or deletes its report.", role: .operator, content: .json(.named("BackTest"))
        ) { call async throws(Problem) in .json(try call.jobs.end(call.path["backtest"] ?? "").json(isWhole: false)) },
    ]
}

/// Reads a back-test from a request, and begins it.
struct BackTestForm {
    private let body: JSON

    init(_ body: JSON) { self.body = body }

    func begin(_ call: Call) async throws(Problem) -> BackTestJobs.Job {
        let workshop = try call.workshop
        let since = body["since"]?.asString ?? "7d"
        guard let span = try? DurationText.parse(since), span > .zero, span <= .days(3660) else {
            throw Problem(422, "`since` is a span of time such as 7d.")
        }
        var files: [RuleFile] = []
        for file in body["files"].elements { files.append(try RuleFile(edited: file, call)) }
        let names = body["rules"].texts
        let request = BackTestRequest(
            files: files, scope: (body["scope"]?.asString).flatMap(BackTestRequest.Scope.init) ?? .beside, rules: names,
            span: span, comparesWithForce: body["against"]?.asString != nil, measuresCoverage: body["coverage"] == true)
        let plan: BackTestPlan
        do throws(WorkshopError) { plan = try await workshop.prepare(request) } catch { throw Problem(error) }
        let about = (names.isEmpty ? files.map(\.path) : names).prefix(10).joined(separator: ", ")
        return try call.jobs.add(plan, about: about, span: span, by: call.visitor.name)
    }
}

extension RuleFile {
    /// A file that a person has edited: one with rules in force, or a new one.
    init(edited json: JSON, _ call: Call) throws(Problem) {
        let (path, text) = (json["file"].textOrEmpty, json["text"].textOrEmpty)
        guard text.utf8.count <= RuleWorkshop.largest else {
            throw Problem(413, "The text has more than \(RuleWorkshop.largest >> 10) KB.")
        }
        guard path.hasSuffix(".yaml") || path.hasSuffix(".yml"), path.utf8.count < 1000, !path.contains("\0") else {
            throw Problem(422, "`file` is the path of a rule file, such as rules/a.yaml.")
        }
        self.init(path: path, bytes: Array(text.utf8))
    }
}

extension Call {
    /// - Throws: 503 if this console cannot check, test or save rules.
    var workshop: RuleWorkshop {
        get throws(Problem) {
            guard let workshop = view.workshop else { throw Problem(503, "This console cannot try rules.") }
            return workshop
        }
    }
}

extension Problem {
    init(_ error: WorkshopError) {
        switch error {
        case .notReady: self.init(503, "The rules are not loaded yet: try again.", retryAfter: 1)
        case .unknownRule(let name, let known): self.init(422, Self.unknown("rule", name, among: known))
        case .unknownFile(let path): self.init(404, "No rule in force is in the file \(path).")
        case .refused(let problems):
            self.init(422, problems.all.prefix(20).map(\.inOneLine).joined(separator: "; "))
            mistakes = problems.all
        case .noRules: self.init(422, "There are no rules in the files.")
        case .changed:
            self.init(412, "The file was changed meanwhile: read it again, and make your change there. Nothing was saved.")
        case .misplaced(let message): self.init(422, message)
        case .exists(let path): self.init(409, "There is a file \(path) already: choose another name. Nothing was saved.")
        case .unwritable(let message): self.init(409, message)
        case .store(let error): self.init(InquiryError(error))
        }
    }
}

extension Diagnostic {
    /// The place, the message, and the help.
    var inOneLine: String {
        (place.map { "\($0.file):\($0.line):\($0.column): " } ?? "") + message + (help.map { ": \($0)" } ?? "")
    }
}
