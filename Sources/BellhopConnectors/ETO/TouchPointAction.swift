import BellhopCore

/// Adds a response to a TouchPoint, exactly once. The services have no idempotency keys, so sending it twice would add two.
struct TouchPointAction: Action {
    static let manifest = ActionManifest(
        kind: "touchpoint", summary: "Adds a response to a TouchPoint of ETO.", receiver: .named,
        arguments: [
            Setting("to", .list(.name), required: true, "The `eto` connections that receive it."),
            Setting("touchpoint", .text, required: true, "The TouchPoint, by its number."),
            Setting("subject", .text, required: true, "The subject it is about, by its number."),
            Setting("program", .text, "The program it belongs to, by name or number; by default the connection's."),
            Setting("created", .text, "When it was filled in; by default when the rule ran."),
            Setting(
                "elements", .map(.json),
                "The answers, by element number: a value, or `{value, type}`, `{date}`, or `{choice: [NUMBER, …]}`."
            ),
            Setting(
                "files",
                .map(
                    .record([
                        Setting("name", .text, required: true, "The file's name."),
                        Setting("text", .text, "Its content, as text."),
                        Setting("base64", .text, "Its content, in Base64."),
                    ])), "Files, by element number; at most 5 MiB together."),
        ], effect: .makes)

    /// The step's name in messages, for a program that the step names.
    static let stepName = "the step"
    let connection: ETOConnection
    /// An assumption: ETO does not document how long its services may process a request.
    let times = WriteTimes(server: .seconds(120))

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        try await attempt.holding(delivery, TouchPointWrite.noun) { () async throws(Failure) in
            let entry = try TouchPointEntry(delivery)
            let writer = Writer(
                delivery: delivery, attempt: attempt, notebook: connection.notebook, clock: connection.clock, times: times,
                place: connection.session.base.place)
            return try await connection.writing.inTurn { () async throws(Failure) in
                try await writer.perform { note in TouchPointWrite(entry, delivery.id, attempt, note, connection) }
            }
        }
    }
}

/// Adds a response. Before the first request it notes which responses exist, so a new response with the same content is ours. A new
/// one with other content may be ours, too, if the services rewrote it.
struct TouchPointWrite: Write {
    static let noun = "response"
    private let entry: TouchPointEntry
    private let connection: ETOConnection
    /// Claims the response that proves it.
    private let delivery: String
    private let claimed: Set<String>
    /// Whether an earlier attempt may have sent it.
    private let isSent: Bool
    /// The responses that existed before; nil if they could not be read.
    private var known: Known?

    var before: JSON? { known?.json }

    init(
        _ entry: TouchPointEntry, _ delivery: Delivery.ID, _ attempt: Attempt, _ note: WriteNote, _ connection: ETOConnection
    ) {
        self.entry = entry
        self.connection = connection
        self.delivery = delivery.text
        claimed = attempt.othersReferences
        isSent = attempt.lastUncertain != nil
        known = isSent ? Known(json: note.before) : nil
    }

    private enum Known {
        case these(Set<Int64>)
        /// All up to this one, because there are too many to list.
        case upTo(Int64)

        init(_ responses: [TouchPointResponse]) {
            let ids = Set(responses.compactMap { $0.id.flatMap { Int64($0) } })
            self = ids.count > 1000 ? .upTo(ids.max() ?? 0) : .these(ids)
        }

        init?(json: JSON?) {
            switch json {
            case .array(let ids)?: self = .these(Set(ids.compactMap(\.asInt)))
            case .int(let last)?: self = .upTo(last)
            default: return nil
            }
        }

        var json: JSON {
            switch self {
            case .these(let ids): .array(ids.sorted().map { .int($0) })
            case .upTo(let last): .int(last)
            }
        }

        func contains(_ id: String) -> Bool {
            guard let number = Int64(id) else { return false }
            return switch self {
            case .these(let ids): ids.contains(number)
            case .upTo(let last): number <= last
            }
        }
    }

    // MARK: Looking

    mutating func lookUp(_ occasion: LookupOccasion) async throws(Failure) -> Lookup {
        let responses: [TouchPointResponse]
        do throws(Failure) {
            responses = try await self.responses()
        } catch  where error.reason == .forbidden || error.reason == .goneOrHidden {
            return .unprovable(error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message)
        }
        let new = responses.filter { response in
            guard let id = response.id, known?.contains(id) != true else { return false }
            return !claimed.contains(reference(id)) && connection.claims.isFree(reference(id), for: delivery)
        }
        switch occasion {
        case .earlier where isSent, .unanswered, .answered:
            if let proof = try await proof(among: new) { return .written(proof) }
            guard known != nil else { return .unprovable("which responses existed before is unknown") }
            guard let id = new.first?.id else { return .absent }
            return .altered(proof(id), "response \(id) is new and has other content")
        case .gap(let span): if let proof = try await proof(among: new, madeIn: span) { return .written(proof) }
        case .first, .earlier: break
        }
        known = Known(responses)
        return .absent
    }

    /// The answer to a request in the program of the entry.
    private func read(_ call: ETOCall) async throws(Failure) -> JSON {
        var call = call
        (call.program, call.namedBy) = (entry.program, TouchPointAction.stepName)
        return try await connection.session.send(call).json(from: connection.session.base.place)
    }

    private func responses() async throws(Failure) -> [TouchPointResponse] {
        let place = connection.session.base.place
        let json = try await read(.responses(of: entry.touchPoint, subject: entry.subject))
        guard let items = json.isNull ? [] : json.asArray else {
            throw Failure.badAnswer("\(place) did not answer with a list of responses.")
        }
        let responses = items.map(TouchPointResponse.init)
        guard !responses.contains(where: { $0.id == nil }) else {
            throw Failure.badAnswer("\(place) sent a response without a number.")
        }
        return responses
    }

    /// The response that this delivery added.
    /// - Parameter span: a gap in the store's records: a response created in it may be ours, too.
    private func proof(
        among responses: [TouchPointResponse], madeIn span: Range<Timestamp>? = nil
    ) async throws(Failure) -> Proof? {
        for var response in responses {
            guard let id = response.id else { continue }
            if response.elements == nil { response = TouchPointResponse(try await read(.response(id, of: entry.touchPoint))) }
            let isInTime =
                response.created.map { created in
                    Self.mayBeSame(created, entry.created) || span.map { $0.contains(created) } ?? false
                } ?? true
            let isSame = entry.answers.allSatisfy { answer in
                response.element(answer.element).map(answer.matches) ?? false
            }
            if isInTime && isSame && connection.claims.take(reference(id), for: delivery) { return proof(id) }
        }
        return nil
    }

    /// Whether the server's time may be the same moment as ours: equal to the millisecond, cut to the second, or a day in some
    /// time zone.
    private static func mayBeSame(_ there: Timestamp, _ own: Timestamp) -> Bool {
        let apart = max(there - own, own - there)
        if there.microseconds % 1_000_000 != 0 { return apart < .milliseconds(4) }
        if there.microseconds % 900_000_000 != 0 { return apart <= .seconds(1) }
        return apart <= .seconds(38 * 3600)
    }

    // MARK: Writing

    func send(notAfter: Timestamp) async throws(Failure) -> Sent {
        let (session, place) = (connection.session, connection.session.base.place)
        let program = try await session.programID(of: entry.program, for: TouchPointAction.stepName)
        let reply = try await session.send(entry.call(notAfter: notAfter, program: program))
        let result = try? reply.json(from: place)
        let record = result?["AddTouchPointResponseResult"] ?? result
        if let id = record.map(TouchPointResponse.init)?.id, (Int64(id) ?? 0) > 0 {
            _ = connection.claims.take(reference(id), for: delivery)
            return .proved(proof(id).receipt(String(reply.status)))
        }
        let words = (record?["ErrorMessage"]?.asString).map { ETOAnswer.shown($0, []) } ?? ""
        throw Failure(
            words.isEmpty ? .notWritten : .refused, .unknownOutcome,
            "\(place) answered \(reply.status), but does not say which response it added\(words.isEmpty ? "" : ": " + words).")
    }

    private func proof(_ id: String) -> Proof { Proof("response \(id)", reference: reference(id)) }

    /// The same reference as in a source of this connection, so that events about our own responses are recognized.
    private func reference(_ id: String) -> String { "\(connection.instance)/\(id)" }
}
