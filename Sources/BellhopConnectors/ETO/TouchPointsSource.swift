import BellhopCore

/// The responses to a TouchPoint as a source of kind `touchpoints`: each response is a task, and its answers are fields.
struct TouchPointsSource: Source {
    /// A field of the configuration: an element of the form, and its type.
    private struct Element: Sendable, Hashable {
        var name: String
        var id: Int64
        var type: FieldType
    }

    let name: String
    let scope: Scope
    let schema: TaskSchema
    private let connection: ETOConnection
    let touchPoint: Int64
    /// Nil for all subjects.
    private let subjects: [Int64?]
    let program: ETOProgram?
    private let title: Int64?
    private let elements: [Element]
    private let page: ItemPage?
    private let timeout: Duration?
    private let shape: ListingShape
    /// The fields of every response, with their paths in its record.
    private static let standard: [TaskSchema.Field] = [
        .init("subject", .int, path: "SubjectID"), .init("program", .int, path: "ProgramID"),
        .init("program_name", .text, path: "ProgramName"), .init("site", .int, path: "SiteID"),
        .init("staff", .text, path: "StaffName"), .init("created", .timestamp, path: "ResponseCreatedDate"),
    ]

    /// - Parameter settings: checked against ``manifest``.
    init(name: String, settings: Settings, connection: ETOConnection) throws(ConnectorError) {
        func problem(_ setting: String, _ message: String) -> ConnectorError {
            ConnectorError(connection: name, setting: setting, message)
        }
        guard let touchPoint = settings.text("touchpoint").flatMap({ Int64($0) }), touchPoint > 0 else {
            throw problem("touchpoint", "A TouchPoint is named by its number.")
        }
        subjects = try settings.texts("subject").map { text throws(ConnectorError) in
            if text == "all" { return nil }
            guard let id = Int64(text) else {
                throw problem("subject", "A subject is named by its number; `all` means all subjects.")
            }
            return id
        }
        guard !subjects.isEmpty, !subjects.contains(nil) || subjects.count == 1 else {
            throw problem("subject", "Name the subjects by their numbers, or write `subject: all`.")
        }
        elements = try Self.elements(settings.values["fields"], source: name)
        page = try ConnectorError.reading("url", of: name) { () throws(InvalidValue) in
            try settings.text("url").map { text throws(InvalidValue) in try ItemPage(text) }
        }
        title = settings.text("title").flatMap { Int64($0) }
        shape = Self.shape(elements, page)
        program = settings.text("program").flatMap(ETOProgram.init)
        timeout = settings.duration("timeout")
        self.name = name
        self.connection = connection
        self.touchPoint = touchPoint
        schema = TaskSchema(
            Self.standard + elements.map { .init($0.name, $0.type, path: String($0.id)) }, roles: .init(created: "created"))
        let whom = Set(subjects).map { $0.map { String($0) } ?? "all" }.sorted()
        scope = Scope(
            instance: connection.instance, user: connection.username, kind: "touchpoints",
            query: "touchpoint=\(touchPoint) subjects=\(whom.joined(separator: ",")) title=\(title.map { String($0) } ?? "-") "
                + Self.place(connection.session.wanted, program))
    }

    /// The site and the program of the requests, on which the answers depend, as a part of the scope.
    private static func place(_ wanted: ETOSession.Place, _ program: ETOProgram?) -> String {
        "site=\(wanted.site ?? "-") program=\((program ?? wanted.program)?.text ?? "-")"
    }

    private static func elements(_ setting: JSON?, source: String) throws(ConnectorError) -> [Element] {
        var elements: [Element] = []
        for (name, value) in setting?.asObject ?? [:] {
            let id = value["element"].map(ItemValue.text) ?? ItemValue.text(value)
            guard let number = Int64(id) else {
                throw ConnectorError(connection: source, setting: "fields.\(name)", "An element is named by its number.")
            }
            guard FieldName.isValid(name), !standard.contains(where: { $0.name == name }) else {
                throw ConnectorError(
                    connection: source, setting: "fields.\(name)",
                    "`\(name)` cannot be the name of an element's field: letters, digits and _, and none of "
                        + standard.map(\.name).quotedList + ".")
            }
            let type = value["type"]?.asString.flatMap(FieldType.init(rawValue:)) ?? .text
            elements.append(Element(name: name, id: number, type: type))
        }
        return elements
    }

    /// Other elements or another address change what is read from each response.
    private static func shape(_ elements: [Element], _ page: ItemPage?) -> ListingShape {
        var shape = ListingShape(items: JSON.Path(), key: ["TouchPointResponseID"], mayHaveGroups: false)
        var builder = FingerprintBuilder()
        for element in elements { builder.add("\(element.name) \(element.type.rawValue) \(element.id)") }
        builder.add(page?.text ?? "-")
        shape.seed = builder.fingerprint
        return shape
    }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        var pages: [Listing] = []
        for subject in subjects { pages.append(try listing(try await send(.responses(of: touchPoint, subject: subject)))) }
        do throws(ListingError) {
            let listing = pages.count == 1 ? pages[0] : try Listing(pages: pages)
            return Answer(listing: listing, fingerprint: Fingerprint(content: listing.body, seed: shape.seed))
        } catch {
            throw unreadable(error)
        }
    }

    private func send(_ call: ETOCall) async throws(Failure) -> ETOReply {
        var call = call
        (call.program, call.timeout) = (program, timeout)
        return try await connection.session.send(call)
    }

    private func listing(_ reply: ETOReply) throws(Failure) -> Listing {
        try rethrowing(as: unreadable) { () throws(ListingError) in
            try Listing(reply.isNothing ? Array("[]".utf8) : reply.body, shape: shape)
        }
    }

    /// Describes the responses of the first subject. Keeps the current program.
    func probe() async throws(Failure) -> (count: Int, text: String) {
        var call = ETOCall.responses(of: touchPoint, subject: subjects[0])
        call.keepsProgram = true
        call.timeout = timeout
        let count = try listing(try await connection.session.send(call)).entries.count
        let suffix = subjects[0].map { " of subject \($0)" } ?? ""
        let rest = subjects.count > 1 ? ", the first of \(subjects.count)" : ""
        return (count, "\(counted(count, "response")) to TouchPoint \(touchPoint)\(suffix)\(rest)")
    }

    private func unreadable(_ error: ListingError) -> Failure {
        Failure.badAnswer(
            "The responses from \(connection.session.base.place) cannot be read: \(ETOAnswer.shown(error.description, [])).")
    }

    /// Low, because each departure needs a request of its own.
    var maxDepartures: Int { 50 }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        var details = Details()
        let (listed, gone) = listing.search(for: keys)
        var unreadable: (keys: [TaskKey], last: Failure)?
        for entry in listed {
            let key = entry.key
            var response = TouchPointResponse(listing.record(of: entry))
            if response.elements == nil, !elements.isEmpty || title != nil {
                do throws(Failure) {
                    if let whole = try await read(key) { response = whole }
                } catch {
                    // A response that the services cannot show must not block the others; the next poll requests it again.
                    guard error.reason == .serverError || error.reason == .refused else { throw error }
                    unreadable = ((unreadable?.keys ?? []) + [key], error)
                    continue
                }
            }
            details.snapshots[key] = snapshot(key, response)
        }
        let listedSubjects: Set<Int64?> = gone.isEmpty ? [] : Set(listing.entries.map { Self.subject(listing.record(of: $0)) })
        for key in gone {
            let (reason, subject) = await departure(of: key)
            // A listed response without a subject may belong to any.
            let isListEmpty = listing.entries.isEmpty || isWatched(subject) && listedSubjects.isDisjoint(with: [nil, subject])
            // The response still exists, so the empty list of its subject is wrong.
            if isListEmpty, reason == .leftQuery {
                details.remaining.insert(key)
            } else {
                details.departures[key] = reason
            }
        }
        if let (keys, last) = unreadable {
            guard !details.snapshots.isEmpty else { throw last }
            let few = keys.prefix(3).map(\.text).joined(separator: ", ")
            let count = counted(keys.count, "response")
            details.notice = "Left out because unreadable: \(count) (\(few)). \(last.message)"
        }
        return details
    }

    private func read(_ key: TaskKey) async throws(Failure) -> TouchPointResponse? {
        let json = try await send(.response(key.text, of: touchPoint)).json(from: connection.session.base.place)
        let response = TouchPointResponse(json)
        return response.id == key.text ? response : nil
    }

    /// Why a response is no longer listed, and its subject. The services report an unknown response in many ways, so only an empty
    /// answer or 404 is proof.
    private func departure(of key: TaskKey) async -> (reason: RemovalReason, subject: Int64?) {
        do throws(Failure) {
            guard let response = try await read(key) else { return (.gone, nil) }
            return (.leftQuery, Self.subject(response.record))
        } catch {
            return (error.reason == .goneOrHidden ? .gone : .unknown, nil)
        }
    }

    private static func subject(_ record: JSON) -> Int64? { Int64(ItemValue.text(record["SubjectID"])) }

    /// Whether the subject's responses are asked for in a request of their own.
    private func isWatched(_ subject: Int64?) -> Bool { subject != nil && subjects.contains(subject) }

    private func snapshot(_ key: TaskKey, _ response: TouchPointResponse) -> Snapshot {
        let record = response.record
        let form = record["FormName"]?.asString ?? "TouchPoint \(touchPoint)"
        let named = title.flatMap { response.element($0) }.map(TouchPointResponse.text) ?? ""
        var snapshot = Snapshot(
            key: key, number: key.text, title: named.isEmpty ? "\(form), subject \(ItemValue.text(record["SubjectID"]))" : named,
            type: form, className: "touchpoint", url: page?.address(of: key, record) ?? "")
        for field in Self.standard { snapshot.fields[field.name] = Self.typed(record[field.path], field.type) }
        for element in elements {
            let value = response.element(element.id).map { JSON.string(TouchPointResponse.text($0)) }
            snapshot.fields[element.name] = Self.typed(value, element.type)
        }
        return snapshot
    }

    private static func typed(_ value: JSON?, _ type: FieldType) -> JSON {
        guard type == .timestamp, let value else { return ItemValue.typed(value, type) }
        return TouchPointTime.read(value).map { .string($0.rfc3339) } ?? .null
    }
}

extension TouchPointsSource {
    static let manifest = SourceManifest(
        kind: "touchpoints", summary: "The responses to a TouchPoint of ETO.", connections: ["eto"],
        settings: [
            Setting("touchpoint", .text, required: true, "The TouchPoint, by its number.", example: "touchpoint: 14"),
            Setting(
                "subject", .list(.text), required: true,
                "The subjects to watch, by number, with one request each; `all` asks without a subject, if the services allow that."
            ),
            Setting("program", .text, "The program, by name or number; by default the connection's."),
            Setting(
                "fields",
                .map(
                    .either([
                        .integer(1...Int(Int32.max)),
                        .record([
                            Setting("element", .integer(1...Int(Int32.max)), required: true, "The element's number."),
                            .fieldType,
                        ]),
                    ])),
                "Fields, each with its element number: `name: 1006`, or `name: {element, type}`."),
            Setting("title", .text, "The number of the element that serves as the title."),
            Setting(
                "url", .text,
                "The address where a person opens a response; `{id}`, `{SubjectID}` and other names of its record are replaced by their values."
            ),
            .initial(of: "response"), .timeout,
        ])
}
