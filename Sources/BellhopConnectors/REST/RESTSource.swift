public import BellhopCore

/// The items of any JSON API as a source of kind `rest`.
///
/// Its list says all there is to know of an item, so nothing is read one by one. An answer is taken whole or not at all: where an item has
/// no identity, or pages do not fit together, nothing counts.
public struct RESTSource: ProbedSource {
    public let name: String
    public let scope: Scope
    public var schema: TaskSchema { reading.schema }
    public var hidesChanges: Bool { false }
    private let session: WebSession
    private let address: HTTPAddress
    private let arguments: RequestArguments
    private let json: JSON?
    private let paging: Paging?
    private let since: Since?
    private let reading: ItemReading

    /// - Parameter settings: checked against ``manifest``.
    public init(name: String, settings: Settings, connection: WebConnection) throws(ConnectorError) {
        func problem(_ setting: String, _ message: String) -> ConnectorError {
            ConnectorError(connection: name, setting: setting, message)
        }
        self.name = name
        session = connection.session
        do throws(HTTPAddress.Problem) {
            address = try connection.base.inside(settings.text("path") ?? "")
        } catch {
            throw problem("path", error.message)
        }
        do throws(RequestArguments.Problem) {
            arguments = try RequestArguments(settings.values, method: "GET")
        } catch {
            throw problem(error.setting, error.message)
        }
        json = settings.values["json"]
        paging = try Paging(settings, source: name)
        since = try Since(settings, source: name)
        reading = try ItemReading(settings, source: name, className: settings.text("class") ?? "item")
        scope = Scope(
            instance: address.origin + address.path, user: connection.username, kind: Self.manifest.kind,
            query: Self.query(settings, address))
    }

    public func list(from standing: Standing) async throws(Failure) -> Answer {
        let before = RESTCursor(standing.cursor)
        let now = session.now
        if let since, let latest = before.since, let whole = before.whole, now - whole < since.reconcile, now >= whole {
            let (pages, _) = try await pages(adding: [since.pair(latest)], validators: Validators())
            let listing = try joined(pages, latestCounts: true)
            var next = before
            next.since = since.latest(in: listing, known: latest)
            return Answer(
                listing: listing, coverage: .part, fingerprint: Fingerprint(content: listing.body), cursor: next.cursor)
        }
        let known = standing.answer == nil ? Validators() : before.validators
        let (pages, validators) = try await pages(adding: [], validators: known)
        guard !pages.isEmpty else {
            return Answer(
                listing: Listing(), coverage: .same, fingerprint: standing.answer ?? .zero, cursor: standing.cursor)
        }
        let listing = try joined(pages, latestCounts: false)
        var next = RESTCursor()
        next.validators = validators
        if let since {
            next.since = since.latest(in: listing, known: nil)
            next.whole = now
        }
        return Answer(listing: listing, fingerprint: Fingerprint(content: listing.body), cursor: next.cursor)
    }

    /// All pages of an answer; none where the server says that it is the one we have.
    private func pages(
        adding more: [(String, String)], validators known: Validators
    ) async throws(Failure) -> (pages: [Listing], validators: Validators) {
        var pager = Pager(paging)
        var turn = pager.first
        var pages: [Listing] = []
        while true {
            var request = request(turn, adding: more)
            if pages.isEmpty { request.headers = request.headers.with(known.headers) }
            let (response, place) = try await session.read(request)
            if response.status == 304 {
                guard pages.isEmpty, known != Validators() else { throw unusable("it is said to be unchanged (304) unasked") }
                return ([], known)
            }
            let page = try listing(response)
            let body = try body(response)
            let overlap = pager.overlap
            let next: Pager.Turn?
            do throws(Pager.Problem) {
                next = try pager.next(after: page, body: body, headers: response.headers, from: place)
            } catch {
                throw unusable(error.message)
            }
            let first = page.entries.first?.key
            pages.append(overlap == 0 ? page : page.without { $0.key == first })
            guard let next else {
                // Of several pages the validators say no more than what they are of.
                return (pages, pages.count == 1 && request.method == "GET" ? Validators(response.headers) : Validators())
            }
            turn = next
        }
    }

    private func joined(_ pages: [Listing], latestCounts: Bool) throws(Failure) -> Listing {
        do throws(ListingError) {
            return try Listing(pages: pages, latestCounts: latestCounts)
        } catch {
            throw unusable(error.description)
        }
    }

    public func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        reading.details(of: keys, in: listing, for: name)
    }

    /// Asking by another method than `GET` is not known to change nothing.
    var probe: HTTPRequest? { arguments.method == "GET" ? request(Pager(paging).first, adding: []) : nil }

    private func request(_ turn: Pager.Turn, adding more: [(String, String)]) -> HTTPRequest {
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
                request.address = request.address.setting(
                    parameters.map { ($0.name, RequestArguments.words($0.value)) })
            }
        }
        if request.headers["Accept"] == nil { request.headers["Accept"] = "application/json" }
        return request
    }

    // MARK: Answers

    /// How many items a first page has.
    func words(for response: HTTPResponse) throws(Failure) -> String {
        let count = try listing(response).entries.count
        return "\(count) item\(count == 1 ? "" : "s")" + (paging == nil ? "" : " on the first page")
    }

    /// The items of one page; an answer that is none fails and says why.
    private func listing(_ response: HTTPResponse) throws(Failure) -> Listing {
        if ReceiverAnswer.isPage(response) {
            throw Failure(
                .unexpectedPage, .retry(after: nil),
                "\(session.label) answered with a page instead of JSON: a login page, or something in between spoke for it.")
        }
        if response.body.isEmpty {
            throw unusable("the answer is empty (\(response.status))")
        }
        if let words = RESTError.words(in: response.body) {
            throw Failure(
                .serverError, .retry(after: nil),
                "\(session.label) answered \(response.status), but with an error in it: \(words).")
        }
        return try reading.listing(response.body, from: session.label)
    }

    /// The page's JSON, where a path of the paging leads into it.
    private func body(_ response: HTTPResponse) throws(Failure) -> JSON {
        guard let paging, paging.next != nil || paging.more != nil || paging.total != nil else { return .null }
        do {
            return try JSON.parse(response.body)
        } catch {
            throw unusable(error.description)
        }
    }

    private func unusable(_ why: String) -> Failure {
        Failure(.badAnswer, .retry(after: nil), "The list of \(session.label) cannot be used: \(why).")
    }

    // MARK: Settings

    /// What is asked for, in canonical words. Values may be secrets, so there is a fingerprint of them.
    private static func query(_ settings: Settings, _ address: HTTPAddress) -> String {
        let names = ["method", "query", "form", "json", "text", "data", "items", "id", "title", "number", "type", "class"]
        var said: JSON.Object = ["target": .string(address.target)]
        for name in names { said[name] = settings.values[name] }
        return Fingerprint(content: JSON.object(said).encoded(.sorted)).hex
    }

    /// What bellhop.yaml may say of a source of kind `rest`, besides what every source has.
    public static let manifest = SourceManifest(
        kind: "rest", summary: "The items of any JSON API.", connections: ["http"],
        settings: [
            Setting("path", .text, required: true, "Where the items are, below the connection's address."),
            Setting("method", .oneOf(["GET", "POST"]), default: "GET", "The request's method; it must change nothing there."),
            Setting("headers", .map(.secret), "Header fields, besides those of the connection."),
            Setting("query", .map(.json), "Parameters of the address; a list gives one each."),
            Setting("form", .map(.json), "A body as HTML forms send it."),
            Setting("json", .json, "A body in JSON."),
            Setting("text", .text, "A body of plain text."),
            Setting("data", .text, "A body of any bytes, in Base64."),
            Setting("timeout", .duration, "How long a request may take; by default the connection's."),
            Setting("class", .text, default: "item", "What `task.class` is of each item."),
            Setting("paging", .record(Paging.settings), "How the pages of the list follow one another."),
            Setting("since", .record(Since.settings), "How to ask only for what changed since the last poll."),
            Setting(
                "reconcile", .duration,
                "With `since`: how often everything is listed, which alone shows what left; by default 1h."),
        ] + ItemReading.settings)
}
