import BellhopAgent
import BellhopCore
import BellhopRules

extension Operations {
    static let workbench: [Operation] = [
        Operation(
            id: "ruleFile", method: .get, path: "/rules/{rule}/file",
            summary: "The file of a rule. Its `ETag` is for `If-Match` when it is saved.", role: .viewer,
            content: .json(.named("RuleFile")), problems: [409]
        ) { call async throws(Problem) in
            let bench = try await Workbench(call, rule: call.path["rule"] ?? "")
            let refusal = Workbench.refusal(call.view, call.visitor)
            return .json([
                "file": .string(bench.path), "text": .string(bench.text), "editable": .bool(refusal == nil),
            ]).tagged(as: bench.tag)
        },
        Operation(
            id: "saveRuleFile", method: .put, path: "/rules/{rule}/file",
            summary: "Saves the file of a rule, if `console.edit` allows it and it still has the text that `If-Match` names.",
            role: .admin, body: .object([("text", .text())], isOpen: false), content: .json(.named("Changed")),
            ifMatch: .required, problems: [412, 428]
        ) { call async throws(Problem) in
            let bench = try await Workbench(call, rule: call.path["rule"] ?? "")
            guard let tag = call.request.matchTag else {
                throw Problem(428, "Send `If-Match` with the `ETag` of the file as you read it.")
            }
            let text = call.body["text"].textOrEmpty
            try await bench.save(text, over: tag)
            return ConsoleAnswer.json(["changed": .bool(text != bench.text)]).tagged(as: RuleWorkshop.tag(of: Array(text.utf8)))
        },
        Operation(
            id: "checkRuleFile", method: .post, path: "/rules/{rule}/check",
            summary: "Checks a changed text of a rule's file, and shows the difference.", role: .operator,
            body: .object([("text", .text())], isOpen: false), content: checked
        ) { call async throws(Problem) in try await check(Workbench(call, rule: call.path["rule"] ?? ""), call) },
        Operation(
            id: "testRuleFile", method: .post, path: "/rules/{rule}/test",
            summary: "Runs the tests beside a rule's file with a changed text of it.", role: .operator,
            body: .object([("text", .text())], isOpen: false), content: tested
        ) { call async throws(Problem) in try await test(Workbench(call, rule: call.path["rule"] ?? ""), call) },
        Operation(
            id: "ruleCoverage", method: .get, path: "/rules/{rule}/coverage",
            summary: "The coverage of a rule's file by recent events and by the latest runs and stops of its rules.",
            role: .viewer, content: .json(.named("Coverage")), problems: [409, 422]
        ) { call async throws(Problem) in
            let list = try await RuleList(call)
            let rule = try list.rule(call.path["rule"] ?? "")
            guard let coverage = try await list.coverage(of: rule, call) else {
                throw Problem(409, "The file of the rule, \(rule.summary.file), cannot be read now.")
            }
            var json = coverage.file.json
            json["events"] = .int(Int64(coverage.events))
            json["since"] = .optional(coverage.since?.rfc3339)
            return .json(.object(json))
        },
        Operation(
            id: "rulePlaces", method: .get, path: "/rule-files",
            summary: "The files of the rules in force, and the folders for new ones.", role: .viewer,
            content: .json(
                .object([
                    ("files", .list(.text("The path of a file."))),
                    ("folders", .list(.text("A folder that rules are read from."))),
                    ("editable", .boolean("Whether you may make a file.")),
                ]))
        ) { call async throws(Problem) in
            .json([
                "files": .array(Set((call.view.book()?.rules ?? []).map(\.file)).sorted().map(JSON.string)),
                "folders": .array(try call.workshop.places.folders.map(JSON.string)),
                "editable": .bool(Workbench.refusal(call.view, call.visitor) == nil),
            ])
        },
        Operation(
            id: "makeRuleFile", method: .post, path: "/rule-files",
            summary: "Creates a rule file, if `console.edit` allows it and the file does not exist.", role: .admin,
            body: newFile, content: .json(.object([("file", .text())])), success: 201
        ) { call async throws(Problem) in
            let bench = try newBench(call)
            try await bench.save(call.body["text"].textOrEmpty)
            return .json(["file": .string(bench.path)], status: 201)
        },
        Operation(
            id: "checkNewRuleFile", method: .post, path: "/rule-files/check",
            summary: "Checks the text of a new rule file.", role: .operator, body: newFile, content: checked
        ) { call async throws(Problem) in try await check(newBench(call), call) },
        Operation(
            id: "testNewRuleFile", method: .post, path: "/rule-files/test",
            summary: "Runs the tests beside a new rule file.", role: .operator, body: newFile, content: tested
        ) { call async throws(Problem) in try await test(newBench(call), call) },
    ]

    private static let newFile = Schema.object(
        [("file", .text("Its path, in one of `folders`: `rules/new.yaml`.")), ("text", .text())], isOpen: false)

    private static let checked = Operation.Content.json(
        .object([
            ("fits", .boolean("Whether it can be put in force.")), ("problems", .list(.named("Diagnostic"))),
            ("difference", .text("As `diff -u` prints it; `patch -p1` applies it in the folder of bellhop.yaml.")),
        ]))

    private static let tested = Operation.Content.json(.object([("tests", .list(.named("TestResult")))]))

    private static func newBench(_ call: Call) throws(Problem) -> Workbench {
        try Workbench(call, newFile: call.body["file"].textOrEmpty)
    }

    private static func check(_ bench: Workbench, _ call: Call) async throws(Problem) -> ConsoleAnswer {
        let text = call.body["text"].textOrEmpty
        let found = try await bench.check(text)
        return .json([
            "fits": .bool(!found.hasErrors), "problems": .array(found.all.map(\.json)),
            "difference": .string(bench.difference(to: text)),
        ])
    }

    private static func test(_ bench: Workbench, _ call: Call) async throws(Problem) -> ConsoleAnswer {
        let results = try await bench.test(call.body["text"].textOrEmpty)
        return .json([
            "tests": .array(
                results.map { result in
                    [
                        "file": .string(result.file), "line": .int(Int64(result.line)), "name": .string(result.name),
                        "passed": .bool(result.passed), "problems": .array(result.problems.map(\.json)),
                    ]
                })
        ])
    }
}
