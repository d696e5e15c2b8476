import BellhopAgent
import BellhopCore
import BellhopRules

extension Pages {
    /// The targets of the pages' forms. Each redirects to a page afterwards.
    static let acts: [Page] = [
        Page(.post, "/logout") { context, _ throws(Problem) in
            context.handler.authenticator.logOut(context.visitor)
            var answer = ConsoleAnswer.seeOther("/login")
            answer.fields.append(context.handler.authenticator.cookie(for: nil))
            return answer
        },
        Page(.post, "/deliveries", role: .operator) { context, _ throws(Problem) in
            let form = context.request.form
            let ids = form.filter { $0.name == "delivery" }.map(\.value)
            guard let command = form.first(where: { $0.name == "command" }).flatMap({ DeliveryCommand(rawValue: $0.value) })
            else {
                throw Problem(400, "The form names no command.")
            }
            if !ids.isEmpty { _ = try await context.call().ask(.apply(command, deliveries: ids)) }
            return .seeOther("/deliveries?" + (form.first { $0.name == "query" }?.value ?? ""))
        },
        decide(.retry), decide(.drop),
        Page(.post, "/deliveries/{delivery}/edit", role: .operator) { context, path throws(Problem) in
            try await edit(context, path["delivery"] ?? "")
        },
        Page(.post, "/rules/{rule}/pause", role: .operator) { context, path throws(Problem) in
            let rule = try await RuleList(context.call()).rule(path["rule"] ?? "").summary.name
            _ = try await context.call().ask(.pause(.rule(rule), why: why(context)))
            return .seeOther("/rules/" + PercentEncoding.encode(rule))
        },
        Page(.post, "/rules/{rule}/resume", role: .operator) { context, path throws(Problem) in
            _ = try await context.call().ask(.resume(.rule(path["rule"] ?? "")))
            return .seeOther("/rules/" + PercentEncoding.encode(path["rule"] ?? ""))
        },
        Page(.post, "/rules/{rule}/workbench", role: .operator) { context, path throws(Problem) in
            try await tryRule(context, path["rule"] ?? "")
        },
        Page(.post, "/workbench", role: .operator) { context, _ throws(Problem) in try await tryNewRule(context) },
        Page(.post, "/backtests", role: .operator) { context, _ throws(Problem) in try await beginBackTest(context) },
        Page(.post, "/backtests/{backtest}/end", role: .operator) { context, path throws(Problem) in
            _ = try context.jobs.end(path["backtest"] ?? "")
            return .seeOther("/backtests")
        },
        Page(.post, "/receivers/{receiver}/pause", role: .operator) { context, path throws(Problem) in
            let name = try Operations.receiver(path["receiver"] ?? "", context.view)
            _ = try await context.call().ask(.pause(.receiver(name), why: why(context)))
            return .seeOther("/receivers")
        },
        Page(.post, "/receivers/{receiver}/resume", role: .operator) { context, path throws(Problem) in
            let name = try Operations.receiver(path["receiver"] ?? "", context.view)
            _ = try await context.call().ask(.resume(.receiver(name)))
            return .seeOther("/receivers")
        },
        Page(.post, "/writes/pause", role: .operator) { context, _ throws(Problem) in
            _ = try await context.call().ask(.pause(.writes, why: why(context)))
            return .seeOther("/receivers")
        },
        Page(.post, "/writes/resume", role: .operator) { context, _ throws(Problem) in
            _ = try await context.call().ask(.resume(.writes))
            return .seeOther("/receivers")
        },
        Page(.post, "/silences", role: .operator) { context, _ throws(Problem) in
            var body: JSON.Object = [:]
            for (name, value) in context.request.form where !value.isEmpty {
                switch name {
                case "when", "for", "reason": body[name] = .string(value)
                case "rule": body["rules"] = [.string(value)]
                case "receiver": body["receivers"] = [.string(value)]
                case "writes": body["writes"] = true
                default: break
                }
            }
            let call = context.call()
            do throws(Problem) {
                _ = try await call.ask(.addSilence(try SilenceForm(.object(body), call).silence))
                return .seeOther("/silences")
            } catch {
                guard error.status == 422 || error.status == 409 else { throw error }
                return try await silences(context, problem: error, entered: .object(body))
            }
        },
        Page(.post, "/silences/{silence}/end", role: .operator) { context, path throws(Problem) in
            _ = try await context.call().ask(.endSilence(path["silence"] ?? ""))
            return .seeOther("/silences")
        },
    ]

    private static func why(_ context: PageContext) -> String { context.request.form.first { $0.name == "why" }?.value ?? "" }

    private static func decide(_ command: DeliveryCommand) -> Page {
        Page(.post, "/deliveries/{delivery}/\(command.rawValue)", role: .operator) { context, path throws(Problem) in
            let id = try await Operations.delivery(context.call(path: path))["id"].text
            _ = try await context.call().ask(.apply(command, deliveries: [id]))
            return .seeOther("/deliveries/" + id)
        }
    }

    private static func edit(_ context: PageContext, _ id: String) async throws(Problem) -> ConsoleAnswer {
        let form = context.request.form
        // Browsers send line ends as CRLF.
        func text(_ name: String) -> String { (form.first { $0.name == name }?.value ?? "").replacing("\r\n", with: "\n") }
        let answer = try await context.call().change(
            FormEdit(delivery: id, before: text("before"), after: text("after")))
        let problems = answer["problems"].texts
        if problems.isEmpty { return .seeOther("/deliveries/" + PercentEncoding.encode(id)) }
        return try await deliveryForm(context, id, entered: text("after"), problems: problems)
    }
}
