import BellhopAgent
import BellhopCore
import BellhopRules

extension Pages {
    /// The targets of the pages' forms. Each redirects to a page afterwards.
    static let acts: [Page] = [
        Page("/logout", .post) { context, _ throws(Problem) in
            context.handler.authenticator.logOut(context.visitor)
            var answer = ConsoleAnswer.seeOther("/login")
            answer.fields.append(context.handler.authenticator.cookie(for: nil))
            return answer
        },
        Page("/deliveries", .post, role: .operator) { context, _ throws(Problem) in
            let chosen = context.request.form.filter { $0.name == "delivery" }.map(\.value)
            let page = context.request.entered("page").split(separator: " ").map(String.init)
            guard let command = context.request.field("command").flatMap(DeliveryCommand.init(rawValue:)) else {
                throw Problem(400, "The form names no command.")
            }
            let ids = (chosen + page).unique()
            let query = context.request.entered("query")
            return try await decided(
                ids.isEmpty ? nil : context.call().ask(.apply(command, deliveries: ids)).end,
                then: "/deliveries?" + (query.isEmpty ? "" : query + "&"))
        },
        decide(.retry),
        decide(.drop),
        Page("/deliveries/{delivery}/edit", .post, role: .operator) { context, name throws(Problem) in
            try await edit(context, name)
        },
        ask("/rules/{rule}/pause", then: rulePage) { context, name throws(Problem) in
            .pause(.rule(try await RuleList(context.call()).rule(name).summary.name), reason: reason(context))
        },
        ask("/rules/{rule}/resume", then: rulePage) { _, name throws(Problem) in .resume(.rule(name)) },
        Page("/rules/{rule}/workbench", .post, role: .operator) { context, name throws(Problem) in
            try await tryRule(context, name)
        },
        Page("/workbench", .post, role: .operator) { context, _ throws(Problem) in try await tryNewRule(context) },
        Page("/backtests", .post, role: .operator) { context, _ throws(Problem) in try await beginBackTest(context) },
        Page("/backtests/{backtest}/end", .post, role: .operator) { context, name throws(Problem) in
            _ = try context.jobs.end(name)
            return .seeOther("/backtests")
        },
        ask("/receivers/{receiver}/pause") { context, name throws(Problem) in
            .pause(.receiver(try Operations.receiver(name, context.view)), reason: reason(context))
        },
        ask("/receivers/{receiver}/resume") { context, name throws(Problem) in
            .resume(.receiver(try Operations.receiver(name, context.view)))
        },
        ask("/writes/pause") { context, _ throws(Problem) in .pause(.writes, reason: reason(context)) },
        ask("/writes/resume") { _, _ throws(Problem) in .resume(.writes) },
        Page("/silences", .post, role: .operator) { context, _ throws(Problem) in
            if context.request.field("preview") != nil { return previewed(context.request) }
            // Without `for`, the message would be about `ends`, too, which the form does not have.
            var body: JSON.Object = ["for": ""]
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
        ask("/silences/{silence}/end", then: { _ in "/silences" }) { context, name throws(Problem) in
            .endSilence(try await Operations.openSilence(name, context.call()))
        },
    ]

    /// The target of a button: sends an inquiry, and leads to a page.
    private static func ask(
        _ path: String, then place: @escaping @Sendable (String) -> String = { _ in "/receivers" },
        _ inquiry: @escaping @Sendable (PageContext, String) async throws(Problem) -> Inquiry
    ) -> Page {
        Page(path, .post, role: .operator) { context, name throws(Problem) in
            _ = try await context.call().ask(inquiry(context, name))
            return .seeOther(place(name))
        }
    }

    private static func rulePage(_ name: String) -> String { "/rules/" + PercentEncoding.encode(name) }

    private static func reason(_ context: PageContext) -> String { context.request.field("reason") ?? "" }

    /// Leads to the page with the entered silence in its address. If the browser sent the form there by GET, the address would also have
    /// the form's token.
    private static func previewed(_ request: ConsoleRequest) -> ConsoleAnswer {
        let entered = request.form.filter { name, value in
            ["for", "when", "rule", "receiver", "reason"].contains(name) && !value.isEmpty
        }
        return .seeOther("/silences?" + PercentEncoding.query(entered.map { ($0.name, $0.value) }))
    }

    private static func decide(_ command: DeliveryCommand) -> Page {
        Page("/deliveries/{delivery}/\(command.rawValue)", .post, role: .operator) { context, name throws(Problem) in
            let id = try await Operations.delivery(context.call(path: ["delivery": name]))["id"].textOrEmpty
            let end = try await context.call().ask(.apply(command, deliveries: [id])).end
            return decided(end, then: "/deliveries/" + id + "?")
        }
    }

    /// Leads to a page that says how many deliveries a decision changed.
    ///
    /// - Parameter end: the answer to the decision; nil if no delivery was chosen.
    private static func decided(_ end: JSON?, then address: String) -> ConsoleAnswer {
        .seeOther("\(address)changed=\(end?["changed"]?.asInt ?? 0)&refused=\(end?["refused"]?.asInt ?? 0)")
    }

    private static func edit(_ context: PageContext, _ id: String) async throws(Problem) -> ConsoleAnswer {
        let (before, after) = (context.request.entered("before"), context.request.entered("after"))
        do throws(Problem) {
            let answer = try await context.call().change(FormEdit(delivery: id, before: before, after: after))
            let problems = answer["problems"].texts
            if problems.isEmpty { return .seeOther("/deliveries/" + PercentEncoding.encode(id)) }
            return try await deliveryForm(context, id, entered: (before, after), problems: problems, status: 422)
        } catch {
            guard error.status == 412 else { throw error }
            let problem = context.t.sentence(error.detail)
            return try await deliveryForm(context, id, entered: (before, after), problems: [problem], status: 412)
        }
    }
}
