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
            let text = call.body["text"]?.asString ?? ""
            try await bench.save(text, over: tag)
            return ConsoleAnswer.json(["changed": .bool(text != bench.text)]).tagged(as: RuleWorkshop.tag(of: Array(text.utf8)))
        },
        Operation(
            id: "checkRuleFile", method: .post, path: "/rules/{rule}/check",
            summary: "Checks another text of a rule's file, and shows how it differs.", role: .operator,
            body: .object([("text", .text())], isOpen: false),
            content: .json(
                .object([
                    ("fits", .boolean("Whether it can be put in force.")), ("problems", .list(.named("Diagnostic"))),
                    ("difference", .text("As `diff -u` shows it.")),
                ]))
        ) { call async throws(Problem) in
            let bench = try await Workbench(call, rule: call.path["rule"] ?? "")
            let text = call.body["text"]?.asString ?? ""
            let found = try await bench.check(text)
            return .json([
                "fits": .bool(!found.hasErrors), "problems": .array(found.all.map(\.json)),
                "difference": .string(bench.difference(to: text)),
            ])
        },
        Operation(
            id: "testRuleFile", method: .post, path: "/rules/{rule}/test",
            summary: "Runs the tests beside a rule's file with another text of it.", role: .operator,
            body: .object([("text", .text())], isOpen: false),
            content: .json(.object([("tests", .list(.named("TestResult")))]))
        ) { call async throws(Problem) in
            let bench = try await Workbench(call, rule: call.path["rule"] ?? "")
            let results = try await bench.test(call.body["text"]?.asString ?? "")
            return .json([
                "tests": .array(
                    results.map { result in
                        [
                            "file": .string(result.file), "line": .int(Int64(result.line)), "name": .string(result.name),
                            "passed": .bool(result.passed), "problems": .array(result.problems.map(\.json)),
                        ]
                    })
            ])
        },
    ]
}
