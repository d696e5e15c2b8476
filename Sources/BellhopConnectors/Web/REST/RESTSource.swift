import BellhopCore

/// The items of any JSON API as a source of kind `rest`.
///
/// The list has all information about its items, so items are not read one by one. An answer is used completely or not at all: an
/// item without an id, or inconsistent pages, invalidate it.
struct RESTSource: ProbedSource {
    let name: String
    let scope: Scope
    var schema: TaskSchema { reading.schema }
    var hidesChanges: Bool { false }
    let session: WebSession
    let address: HTTPAddress
    let arguments: RequestArguments
    let json: JSON?
    let paging: Paging?
    let since: Since?
    let reading: ItemReading
    /// Identifies how answers are read: after a change, a stored answer says nothing about the items.
    private let readingID: Fingerprint
    private let secrets: [String]
    private let expected: ExpectedAnswer

    /// - Parameter settings: checked against ``manifest``.
    init(name: String, settings: Settings, connection: WebConnection) throws(ConnectorError) {
        func problem(_ setting: String, _ message: String) -> ConnectorError {
            ConnectorError(connection: name, setting: setting, message)
        }
        self.name = name
        session = connection.session
        address = try connection.base.inside(settings.text("path") ?? "", "path", of: name)
        do throws(RequestArguments.Problem) {
            arguments = try RequestArguments(settings.values, method: "GET")
            expected = try ExpectedAnswer(["check": settings.values["check"] ?? .null])
        } catch {
            throw problem(error.setting, error.message)
        }
        json = settings.values["json"]
        paging = try Paging(settings, source: name)
        since = try Since(settings, source: name)
        reading = try ItemReading(settings, source: name, className: settings.text("class") ?? "item")
        var builder = FingerprintBuilder()
        builder.add(reading.shape.seed)
        for name in ["paging", "check", "since"] { builder.add(settings.values[name]?.text(.sorted) ?? "-") }
        readingID = builder.fingerprint
        secrets = settings.secrets
        let place = Redaction.scrub(address.origin + address.path, of: secrets).replacing(Redaction.mark, with: "-")
        scope = Scope(
            instance: place, user: connection.username, kind: Self.manifest.kind,
            query: Self.query(settings, address))
    }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        let before = RESTCursor(lastPoll.cursor)
        let now = session.now
        let isSameReading = before.reading == readingID
        if let since, isSameReading, let latest = before.since, let whole = before.whole, now - whole < since.reconcile,
            now >= whole
        {
            let changes = since.pair(latest)
            let pages = try await pages(adding: [changes], validators: Validators())
            if pages.mayBeCut(missing: 0) { try await confirmEmptyEnd(pages, adding: [changes]) }
            var listing = try joined(pages.all, latestCounts: true)
            // If the next poll asks for the same changes, it finds what these pages may have missed.
            let seen = since.latest(in: listing, known: latest, answered: pages.answered) ?? latest
            if since.pair(seen) != changes { listing = try await settled(listing, of: pages, adding: [changes]) }
            var next = before
            // If these changes are undone, the whole list is again the one that the validators identify.
            if !lastPoll.known.compare(with: listing, isWhole: false).isEmpty { next.validators = Validators() }
            next.since = since.latest(in: listing, known: latest, answered: pages.answered)
            return Answer(
                listing: listing, coverage: .part, fingerprint: reading.fingerprint(of: listing), cursor: next.cursor)
        }
        let known = lastPoll.answer == nil || !isSameReading ? Validators() : before.validators
        var pages = try await pages(adding: [], validators: known)
        guard !pages.all.isEmpty else {
            return Answer(listing: Listing(), coverage: .same, fingerprint: lastPoll.answer ?? .zero, cursor: lastPoll.cursor)
        }
        var listing = try joined(pages.all, latestCounts: false)
        pages.all = []
        var missing = 0
        // Pages by offset show by their overlap that items moved.
        let mayLackNew = pages.counts.count > 1 && paging?.way != .offset
        if mayLackNew || pages.counts.count > 1 && !lastPoll.known.isEmpty {
            (listing, missing) = try await completed(listing, known: lastPoll.known)
        }
        let mayBeCut = (lastPoll.known.isEmpty || missing > 0) && pages.mayBeCut(missing: missing)
        if mayBeCut { try await confirmEmptyEnd(pages, adding: []) }
        var next = RESTCursor()
        next.reading = readingID
        next.validators = pages.validators
        var notices = pages.check?.notice(of: name).map { [$0] } ?? []
        if let since {
            let latest = since.latest(in: listing, known: nil, answered: pages.answered)
            // The changes since the poll before include a new item that these pages may lack.
            next.since = mayLackNew && isSameReading ? before.since ?? latest : latest
            next.whole = now
            if next.since == nil, let notice = since.notice(of: name, in: listing) { notices.append(notice) }
        }
        var answer = Answer(
            listing: listing, fingerprint: reading.fingerprint(of: listing), cursor: next.cursor, notices: notices)
        answer.mayBeCut = mayBeCut
        return answer
    }

    var hidden: [String] { session.hidden + secrets }

    func joined(_ pages: [Listing], latestCounts: Bool) throws(Failure) -> Listing {
        try reading.listing(pages: pages, latestCounts: latestCounts, from: session.label, hiding: hidden)
    }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        reading.details(of: keys, in: listing, for: name)
    }

    /// Methods other than `GET` may change something.
    var probe: HTTPRequest? { arguments.method == "GET" ? request(Pager(paging).first, adding: []) : nil }

    func request(_ turn: Pager.Turn, adding more: [(String, String)]) -> HTTPRequest {
        var request: HTTPRequest
        switch turn {
        case .address(let address):
            request = arguments.request(to: address)
            request.address = address
        case .parameters(let parameters):
            if paging?.inBody == true, case .object(var members)? = json {
                for parameter in parameters { members[parameter.name] = parameter.value }
                request = arguments.request(to: address, adding: more)
                request.body = JSON.object(members).encoded()
            } else {
                request = arguments.request(to: address, adding: more)
                request.address = request.address.setting(parameters.map { ($0.name, RequestArguments.words($0.value)) })
            }
        }
        if request.headers["Accept"] == nil { request.headers["Accept"] = "application/json" }
        return request
    }

    // MARK: Answers

    /// Describes the number of items of the first page.
    func words(for response: HTTPResponse) throws(Failure) -> String {
        let count = try listing(response).entries.count
        var words = counted(count, "item")
        guard let paging else { return words }
        words += " on the first page"
        var check = PagingCheck(paging)
        try check.note(count, body: body(response), headers: response.headers)
        return words + (check.words.map { ", and \($0)" } ?? "")
    }

    /// The items of one page. Throws the reason if the answer is not such a page.
    func listing(_ response: HTTPResponse) throws(Failure) -> Listing {
        if ReceiverAnswer.isPage(response) {
            throw Failure(
                .unexpectedPage, .retry(after: nil),
                "\(session.label) answered with a web page instead of JSON: a login page, or an intermediary answered.")
        }
        if response.body.isEmpty { throw unusable("the answer is empty (\(response.status))") }
        if let words = ReportedError.words(in: response.body, hiding: hidden) {
            throw Failure(
                .serverError, .retry(after: nil),
                "\(session.label) answered \(response.status), but with an error: \(words).")
        }
        _ = try rethrowing(as: { Failure.badAnswer($0.message) }) { () throws(Failure) in
            try expected.check(response, from: session.label, hiding: hidden, Repetition(isAllowed: true))
        }
        return try reading.listing(response.body, from: session.label, hiding: hidden)
    }

    /// The page's JSON, if a path of the paging needs it.
    func body(_ response: HTTPResponse) throws(Failure) -> JSON {
        guard let paging, paging.next != nil || paging.more != nil || paging.total != nil else { return .null }
        do { return try JSON.parse(response.body) } catch { throw unusable(error.description) }
    }

    func unusable(_ why: String) -> Failure { Failure.badAnswer("The list of \(session.label) cannot be used: \(why).") }

    // MARK: Settings

    /// The canonical query: a fingerprint, because values may be secrets.
    private static func query(_ settings: Settings, _ address: HTTPAddress) -> String {
        let names = ["method", "query", "form", "json", "text", "data", "items", "id", "title", "number", "type", "class"]
        var query: JSON.Object = ["target": .string(address.target)]
        for name in names { query[name] = settings.values[name] }
        return Fingerprint(content: JSON.object(query).encoded(.sorted)).hex
    }

    static let manifest = SourceManifest(
        kind: "rest", summary: "The items of any JSON API.", connections: ["http"],
        settings: [
            Setting("path", .text, required: true, "The path of the items, below the connection's address."),
            Setting("method", .oneOf(["GET", "POST"]), default: "GET", "The request's method. It must not change data."),
        ] + RequestArguments.settings(headers: .secret) + [
            Setting(
                "check", .map(.json),
                "Paths in the answer, each with its required value, such as {success: true}; otherwise the poll fails."
            ),
            Setting("class", .text, default: "item", "The `task.class` of each item."),
            Setting("paging", .record(Paging.settings), "How to read further pages of the list."),
            Setting("since", .record(Since.settings), "How to ask only for changes since the last poll."),
            Setting(
                "reconcile", .duration,
                "With `since`: how often to list everything, which finds items that left; by default 1h."),
        ] + ItemReading.settings)
}
