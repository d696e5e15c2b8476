import BellhopCore

extension AdminAPI {
    func faults(_ path: [String], _ request: ReceivedRequest) throws(AdminProblem) -> Reply {
        let plan = simulation.faults
        switch (request.method, path.count) {
        case ("GET", 1): return .json(200, .array(plan.rules.map(\.json)))
        case ("POST", 1):
            let rules = try FaultRule.all(in: try AdminForm.body(of: request))
            return .json(201, ["ids": .array(rules.map { .int(plan.add($0)) })])
        case ("DELETE", 1): plan.removeAll()
        case ("DELETE", 2):
            guard let id = Int(path[1]), plan.remove(id) else {
                throw AdminProblem(status: 404, message: "no fault rule \(path[1])")
            }
        default: throw AdminAPI.unknown(request)
        }
        return Reply(204)
    }
}

extension FaultPlan {
    /// Adds one rule or a list of rules, in the admin endpoint's JSON.
    public func add(json: String) throws(FaultMistake) {
        do throws(AdminProblem) {
            for rule in try FaultRule.all(in: try AdminForm.json(Array(json.utf8))) { add(rule) }
        } catch {
            throw FaultMistake(message: error.message)
        }
    }
}

/// Why a text is not a fault rule.
public struct FaultMistake: Error, Sendable, Hashable { public let message: String }

extension FaultRule {
    fileprivate static func all(in value: JSON) throws(AdminProblem) -> [FaultRule] {
        var rules: [FaultRule] = []
        for element in value.asArray ?? [value] { rules.append(try FaultRule(element)) }
        return rules
    }

    init(_ value: JSON) throws(AdminProblem) {
        var form = AdminForm(value)
        let hasTimes = form.has("times")
        self.init(
            try Fault(&form), method: try form.text("method"), path: try form.text("path"),
            query: try form.text("query"), skip: try form.int("skip") ?? 0,
            times: try form.int("times"), probability: try form.double("probability") ?? 1,
            takesEffect: try form.bool("takes_effect") ?? false)
        if !hasTimes, !fault.isHabit { times = 1 }
        try form.end()
    }
}

extension FaultPlan.RuleStatus {
    var json: JSON {
        let head: JSON.Object = ["id": .int(id), "fault": .string(rule.fault.name)]
        let tail: JSON.Object = [
            "method": .optional(rule.method), "path": .optional(rule.path), "query": .optional(rule.query),
            "skip": .int(rule.skip),
            "times": rule.times.map { .int($0) } ?? .null, "probability": .double(rule.probability),
            "takes_effect": .bool(rule.takesEffect), "seen": .int(seen), "struck": .int(struck),
        ]
        return .object(head.adding(rule.fault.arguments).adding(tail))
    }
}
