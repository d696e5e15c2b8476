import BellhopAgent
import BellhopCore
import BellhopRules

extension Operations {
    static let acting: [Operation] =
        [
            Operation(
                id: "form", method: .get, path: "/deliveries/{delivery}/form",
                summary: "The arguments of a dead or held delivery, as a text to edit. Its `ETag` is for `If-Match`.",
                role: .operator, content: .json(.named("Form"))
            ) { call async throws(Problem) in
                let form = try await call.ask(.form(try await delivery(call)["id"].textOrEmpty)).end
                return .json(form).tagged(as: RuleWorkshop.tag(of: Array(form["text"].textOrEmpty.utf8)))
            },
            Operation(
                id: "edit", method: .put, path: "/deliveries/{delivery}/form",
                summary: "Changes the arguments of a dead or held delivery. `before` is the text that was edited.",
                role: .operator, body: .object([("before", .text()), ("after", .text())], isOpen: false),
                content: .json(
                    .object([("difference", .text()), ("problems", .list(.text()))], optional: ["difference", "problems"])),
                ifMatch: .allowed, problems: [412]
            ) { call async throws(Problem) in
                let id = try await delivery(call)["id"].textOrEmpty
                let edit = FormEdit(delivery: id, before: call.body["before"].textOrEmpty, after: call.body["after"].textOrEmpty)
                return .json(try await call.change(edit))
            },
            Operation(
                id: "decide", method: .post, path: "/deliveries/decisions",
                summary: "Retries or drops several deliveries: all of them, or none if one is `joined` or cannot be found.",
                role: .operator,
                body: .object(
                    [("command", .word(["retry", "drop"])), ("deliveries", .list(.text("An id or the start of one.")))],
                    isOpen: false), content: .json(.named("ChangedCount"))
            ) { call async throws(Problem) in
                let ids = call.body["deliveries"].texts
                if ids.isEmpty { throw Problem(422, "Name at least one delivery.") }
                guard let command = call.body["command"]?.asString.flatMap(DeliveryCommand.init) else {
                    throw Problem(422, "`command` is retry or drop.")
                }
                return .json(try await call.ask(.apply(command, deliveries: ids)).end)
            },
            Operation(
                id: "addSilence", method: .post, path: "/silences", summary: "Begins a silence.", role: .operator,
                body: .object(silenceMembers, optional: silenceMembers.map(\.0), isOpen: false),
                content: .json(.object([("id", .text()), ("changed", .boolean())]))
            ) { call async throws(Problem) in .json(try await call.ask(.addSilence(try SilenceForm(call.body, call).silence)).end)
            },
            Operation(
                id: "endSilence", method: .delete, path: "/silences/{silence}", summary: "Ends a silence.", role: .operator,
                content: .json(.named("Silence"))
            ) { call async throws(Problem) in
                .json(try await call.ask(.endSilence(try await openSilence(call.path["silence"] ?? "", call))).end)
            },
            Operation(
                id: "replay", method: .post, path: "/replays",
                summary: "Routes stored events again, or says what that would do.",
                role: .operator,
                body: .object(
                    [
                        ("events", .list(.text("An id or the start of one."))), ("rule", .text("Only this rule.")),
                        ("force", .boolean("Whether `once` and `throttle` stop no run.")),
                        ("trial", .boolean("Only say what would be done.")),
                    ], optional: ["rule", "force", "trial"], isOpen: false), content: .json(.object([("agent", .boolean())]))
            ) { call async throws(Problem) in
                let events = call.body["events"].texts
                if events.isEmpty { throw Problem(422, "Name at least one event.") }
                return .json(
                    try await call.ask(
                        .replay(
                            ReplayRequest(
                                events: events, rule: call.body["rule"]?.asString, isForced: call.body["force"] == true,
                                isTrial: call.body["trial"] == true))
                    ).end)
            },
            Operation(
                id: "pauseWrites", method: .post, path: "/writes/pause", summary: "Pauses all writes to tasks.", role: .operator,
                body: reason, content: .json(.named("Changed"))
            ) { call async throws(Problem) in .json(try await call.ask(.pause(.writes, reason: call.reason)).end) },
            Operation(
                id: "resumeWrites", method: .post, path: "/writes/resume", summary: "Ends the pause of all writes to tasks.",
                role: .operator, content: .json(.named("Changed"))
            ) { call async throws(Problem) in .json(try await call.ask(.resume(.writes)).end) },
            Operation(
                id: "inquire", method: .post, path: "/inquiries",
                summary: "Answers an inquiry that a command with `--console` sends, in the form of the control socket.",
                role: .viewer, body: .any(), content: .lines, problems: [404, 409]
            ) { call async throws(Problem) in try await RemoteInquiry(call).answer },
        ] + decisions + pauses

    /// The members of a silence; all are optional.
    static let silenceMembers: [(String, Schema)] = [
        ("when", .text("Only messages for which this condition holds.")), ("rules", .list(.text())),
        ("receivers", .list(.text())), ("starts", .time("Now without it.")), ("ends", .time()),
        ("for", .text("How long it lasts, instead of `ends`: 4h.")), ("reason", .text()),
        ("writes", .boolean("Whether it also keeps back what writes to a task.")),
    ]

    private static let reason: Schema = .object(
        [("reason", .text("The reason, for others."))], optional: ["reason"], isOpen: false)

    private static let decisions = [DeliveryCommand.retry, .drop].map { command in
        Operation(
            id: command.rawValue, method: .post, path: "/deliveries/{delivery}/\(command.rawValue)",
            summary: command == .retry
                ? "Retries a delivery that is dead, held or kept back." : "Drops a delivery permanently.",
            role: .operator, content: .json(.named("ChangedCount"))
        ) { call async throws(Problem) in
            .json(try await call.ask(.apply(command, deliveries: [try await delivery(call)["id"].textOrEmpty])).end)
        }
    }

    /// Pauses and resumes one rule or one receiver.
    private static let pauses = [true, false].flatMap { pauses in
        let verb = pauses ? "pause" : "resume"
        return [
            Operation(
                id: "\(verb)Rule", method: .post, path: "/rules/{rule}/\(verb)",
                summary: pauses ? "Pauses a rule: it does not run until it is resumed." : "Ends a rule's pause.", role: .operator,
                body: pauses ? reason : nil, content: .json(.named("Changed"))
            ) { call async throws(Problem) in
                let name = try await RuleList(call).rule(call.path["rule"] ?? "").summary.name
                return .json(try await call.ask(pauses ? .pause(.rule(name), reason: call.reason) : .resume(.rule(name))).end)
            },
            Operation(
                id: "\(verb)Receiver", method: .post, path: "/receivers/{receiver}/\(verb)",
                summary: pauses ? "Pauses a receiver: it gets no deliveries until it is resumed." : "Ends a receiver's pause.",
                role: .operator, body: pauses ? reason : nil, content: .json(.named("Changed"))
            ) { call async throws(Problem) in
                let target = PauseTarget.receiver(try receiver(call.path["receiver"] ?? "", call.view))
                return .json(try await call.ask(pauses ? .pause(target, reason: call.reason) : .resume(target)).end)
            },
        ]
    }

    /// - Throws: 404 if no silence that has not ended has this id.
    static func openSilence(_ id: String, _ call: Call) async throws(Problem) -> String {
        let open = try await call.ask(.silences(ended: false)).end["silences"].elements
        guard open.contains(where: { $0["id"]?.asString?.hasPrefix(id) == true }) else {
            throw Problem(404, "No active or future silence has the id `\(id)`.")
        }
        return id
    }

    static func receiver(_ name: String, _ view: AgentView) throws(Problem) -> String {
        let known = view.connections.map(\.name)
        if known.contains(name) { return name }
        throw Problem(404, Problem.unknown("connection", name, among: known))
    }
}

extension Call {
    /// Stores a person's change to a delivery.
    ///
    /// - Throws: 412 if the delivery has changed since the person read it.
    func change(_ edit: FormEdit) async throws(Problem) -> JSON {
        let present = try await ask(.form(edit.delivery)).end["text"].textOrEmpty
        let isMatching = request.header("if-match") == nil || request.matchTag == RuleWorkshop.tag(of: Array(present.utf8))
        guard present == edit.before, isMatching else {
            throw Problem(
                412, "The delivery was changed meanwhile: read it again, and make your change there. Nothing was stored.")
        }
        return try await ask(.edit(edit)).end
    }

    /// - Throws: 422 with the mistakes in a silence's condition.
    fileprivate func checkSilence(_ when: String) throws(Problem) {
        try checked { book throws(Diagnostics) in try book.checkSilence(when) }
    }

    fileprivate var reason: String { body["reason"].textOrEmpty }
}

/// Reads a silence from a request.
struct SilenceForm {
    let silence: Silence

    /// - Throws: 422 with the mistake.
    init(_ body: JSON, _ call: Call) throws(Problem) {
        func time(_ name: String) -> Timestamp? { body[name]?.asMoment }
        let now = call.view.clock.now
        let starts = time("starts") ?? now
        guard (body["for"] == nil) != (body["ends"] == nil) else { throw Problem(422, "Give either `for` or `ends`.") }
        var ends = time("ends") ?? now
        if let text = body["for"]?.asString {
            guard let span = try? DurationText.parse(text), span > .zero else {
                throw Problem(422, "`for` is how long the silence lasts, such as 4h.")
            }
            ends = starts + span
        }
        guard starts < ends, ends > now, Timestamp(rfc3339: ends.rfc3339) != nil else {
            throw Problem(422, "A silence ends after it begins, and after now.")
        }
        for name in body["receivers"].texts {
            do throws(Problem) { _ = try Operations.receiver(name, call.view) } catch { throw Problem(422, error.detail) }
        }
        let known = call.view.book()?.rules.map(\.name) ?? []
        for name in body["rules"].texts where !known.contains(name) {
            throw Problem(422, Problem.unknown("rule", name, among: known))
        }
        let when = body["when"]?.asString
        if let when { try call.checkSilence(when) }
        silence = Silence(
            when: when, rules: body["rules"].texts.unique(), receivers: body["receivers"].texts.unique(), starts: starts,
            ends: ends,
            reason: body["reason"].textOrEmpty, by: call.visitor.name, writes: body["writes"] == true)
    }
}

/// An inquiry that a command with `--console` sends, and its answer.
struct RemoteInquiry {
    let answer: ConsoleAnswer

    /// - Throws: the problem of an answer that fails before its first row.
    init(_ call: Call) async throws(Problem) {
        if let limit = call.body["limit"], !limit.isNull, (limit.asInt ?? 0) < 1 {
            throw Problem(422, "`limit` is a whole number from 1.")
        }
        guard var inquiry = Inquiry(json: call.body) else {
            throw Problem(422, "The agent does not know this inquiry: use a `bellhop` of the agent's version.")
        }
        try call.visitor.require(inquiry.role)
        switch inquiry {
        case .addSilence(var silence):
            if let when = silence.when { try call.checkSilence(when) }
            silence.by = call.visitor.name
            inquiry = .addSilence(silence)
        case .events(let query, _): try call.checkTypes(query.types.map(\.name))
        case .pause(.receiver(let name), _): _ = try Operations.receiver(name, call.view)
        default: break
        }
        let person = Person(
            user: call.visitor.name, host: call.request.peer, command: call.body["command_name"]?.asString ?? "console")
        var lines = Lines(answer: call.view.inquirer.answer(inquiry), person: person)
        do throws(InquiryError) { lines.first = try await lines.piece() } catch { throw Problem(error) }
        answer = ConsoleAnswer(stream: "application/x-ndjson", lines)
    }

    private struct Lines: ConsoleStream {
        var answer: InquiryAnswer
        let person: Person
        /// The first piece, which was read before the answer began.
        var first: InquiryAnswer.Piece?
        var isOver = false

        mutating func next() async -> String? {
            if isOver { return nil }
            var lines: [[UInt8]] = []
            do throws(InquiryError) {
                let piece = if let first { first } else { try await self.piece() }
                first = nil
                switch piece {
                case .rows(let rows): lines = rows.map { ControlFrame.row($0).line }
                case .end(let end): (lines, isOver) = ([ControlFrame.end(end).line], true)
                }
            } catch {
                (lines, isOver) = ([ControlFrame.failure(error).line], true)
            }
            return lines.map { String(decoding: $0, as: UTF8.self) }.joined()
        }

        /// Reads the next piece on behalf of the visitor.
        mutating func piece() async throws(InquiryError) -> InquiryAnswer.Piece {
            let result: Result<InquiryAnswer.Piece, InquiryError>
            (result, answer) = await Person.$current.withValue(person) { [answer] in
                var rest = answer
                do throws(InquiryError) { return (.success(try await rest.next()), rest) } catch {
                    return (.failure(error), rest)
                }
            }
            return try result.get()
        }
    }
}

extension Inquiry {
    fileprivate var role: ConsoleRole {
        switch self {
        case .status, .activity, .events, .deliveries, .tasks, .silences, .history, .audit: .viewer
        case .apply, .pause, .resume, .addSilence, .endSilence, .forget, .form, .edit, .replay: .operator
        case .tokens, .addToken, .removeToken, .keepRefusal, .keychainChanged: .admin
        }
    }
}
