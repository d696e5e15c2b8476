import BellhopCore
import Synchronization

/// A page of an instance or a site as a source of kind `page`: its text and the changes to it.
///
/// A page always exists: if it cannot be read, the poll fails and no change is reported.
struct PageSource: ProbedSource {
    let name: String
    let scope: Scope
    let schema = TaskSchema([])
    var shows: RecordKind { .page }
    var hidesChanges: Bool { false }
    private let address: HTTPAddress
    private let preload: [HTTPAddress]
    private let watch: PageWatch
    private let host: any PageHost
    private let key: TaskKey
    private let timeout: Duration?
    private let secrets: [String]
    private let latest = Latest()

    /// State between the two steps of a poll.
    ///
    /// A class with a lock, because a source is a value whose poll has separate methods.
    private final class Latest: Sendable {
        struct State {
            var hasPreloaded = false
            var snapshot: Snapshot?
        }
        let state = Mutex(State())
    }

    /// - Parameter settings: checked against ``manifest``.
    init(name: String, settings: Settings, base: HTTPAddress, user: String, host: any PageHost) throws(ConnectorError) {
        self.name = name
        self.host = host
        address = try base.inside(settings.text("path") ?? "", "path", of: name)
        preload = try settings.texts("preload").map { text throws(ConnectorError) in
            try base.inside(text, "preload", of: name)
        }
        watch = try PageWatch(settings, source: name)
        timeout = settings.duration("timeout")
        secrets = settings.secrets
        let path = Redaction.scrub(String(address.path.dropFirst()), of: secrets).replacing(Redaction.mark, with: "-")
        key = TaskKey(path.isEmpty ? "index" : path)
        var query: JSON.Object = ["target": .string(address.target)]
        for setting in ["select", "extract", "ignore"] { query[setting] = settings.values[setting] }
        scope = Scope(
            instance: address.origin, user: user, kind: Self.manifest.kind,
            query: Fingerprint(content: JSON.object(query).encoded(.sorted)).hex)
    }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        let notices = await preloadPages()
        let validators = lastPoll.answer == nil ? Validators() : Validators(lastPoll.cursor)
        guard let response = try await page(validators) else {
            return Answer(
                listing: Listing(), coverage: .same, fingerprint: lastPoll.answer ?? .zero, cursor: lastPoll.cursor,
                notices: notices)
        }
        let snapshot = try snapshot(response)
        latest.state.withLock { $0.snapshot = snapshot }
        do throws(ListingError) {
            let listing = try Listing(records: [(key, ["print": .string(snapshot.pageFingerprint)])])
            return Answer(
                listing: listing, fingerprint: Fingerprint(content: listing.body), cursor: Validators(response.headers).cursor,
                notices: notices)
        } catch {
            throw Failure.badAnswer(error.description)
        }
    }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        var details = Details()
        let snapshot = latest.state.withLock { $0.snapshot }
        // After a 304 the text is unknown: the page is read again.
        let known: Snapshot
        if let snapshot {
            known = snapshot
        } else if let response = try await page(Validators()) {
            known = try self.snapshot(response)
        } else {
            return details
        }
        for wanted in keys where wanted == key { details.snapshots[key] = known }
        return details
    }

    var probe: HTTPRequest? { HTTPRequest(address, headers: ["Accept": "text/html, */*;q=0.5"], timeout: timeout) }

    func words(for response: HTTPResponse) throws(Failure) -> String {
        let count = try snapshot(response).pageText.count
        return "a page with \(counted(count, "character")) of text"
    }

    /// The page; nil if it still matches these validators.
    private func page(_ validators: Validators) async throws(Failure) -> HTTPResponse? {
        let response = try await rethrowing(as: { Failure($0.reason, $0.remedy, Redaction.scrub($0.message, of: secrets)) }) {
            () async throws(Failure) in
            try await host.page(address, headers: validators.headers, timeout: timeout)
        }
        guard response.status == 304 else { return response }
        guard validators != Validators() else { throw Failure.badAnswer("The page \(place) got an unexpected 304 (unchanged).") }
        return nil
    }

    /// The page's address, for messages.
    private var place: String { Redaction.scrub("\(address)", of: secrets) }

    private func snapshot(_ response: HTTPResponse) throws(Failure) -> Snapshot {
        guard !response.body.isEmpty else { throw Failure.badAnswer("The page \(place) is empty.") }
        try refuseSubstitute(response)
        guard watch.isSelective || !LoginPage.isOne(response.body) else {
            throw Failure(
                .unexpectedPage, .retry(after: nil),
                "The page \(place) asks for a login. If that is the page you want, `select` the part to watch.")
        }
        let read = try rethrowing(as: { Failure.badAnswer("The page \(place) cannot be watched: \($0.message).") }) {
            () throws(PageWatch.Problem) in
            try watch.read(response.body, type: response.headers["Content-Type"] ?? "")
        }
        guard let read else {
            throw Failure.badAnswer("The page \(place) has no element that matches `select`: it may be another page now.")
        }
        guard read.text.utf8.count <= PageWatch.longest else {
            throw Failure(
                .tooLarge, .giveUp,
                "The page \(place) has \(read.text.utf8.count) bytes of text, more than 1 MB: `select` a part.")
        }
        return Snapshot(
            key: key, title: read.title, type: "Page", className: "page", url: Redaction.scrub(address.text, of: secrets),
            fields: ["text": .string(read.text)])
    }

    /// Fails for answers sent in place of a page: the notice of a hibernating instance, or an error as JSON. Connections of
    /// kind servicenow have already checked this.
    private func refuseSubstitute(_ response: HTTPResponse) throws(Failure) {
        if LoginPage.isHibernating(response.body) {
            throw Failure(
                .hibernating, .retry(after: .seconds(300)),
                "The page \(place) is not available: its instance is hibernating; wake it at developer.servicenow.com.")
        }
        let first = response.body.first { !" \t\r\n\u{FEFF}".utf8.contains($0) }
        if first == UInt8(ascii: "{"),
            let words = ReportedError.words(in: response.body, under: ["error"], hiding: secrets + host.hidden)
        {
            throw Failure(
                .serverError, .retry(after: nil),
                "The page \(place) was answered with an error as JSON (\(response.status)): \(words).")
        }
    }

    /// Requests the addresses to preload before the first poll. Failures are only reported.
    private func preloadPages() async -> [String] {
        let isFirst = latest.state.withLock { state in
            defer { state.hasPreloaded = true }
            return !state.hasPreloaded
        }
        var notices: [String] = []
        for address in isFirst ? preload : [] {
            do throws(Failure) {
                _ = try await host.page(address, headers: [:], timeout: timeout)
            } catch {
                let message = "Source \(name) could not preload \(address): \(error.message)"
                notices.append(Redaction.scrub(message, of: secrets))
            }
        }
        return notices
    }

    static let manifest = SourceManifest(
        kind: "page", summary: "The content of one page; it emits `page_changed`.", connections: ["servicenow", "http"],
        settings: [
            Setting(
                "path", .text, required: true,
                "The page: a path below the connection's address, or a full address on the same host."),
            Setting("preload", .list(.text), "Pages to request once before the first poll, so that the server has them ready."),
        ] + PageWatch.settings + [.timeout])
}

/// A connection that serves pages.
protocol PageHost: Sendable {
    /// The page, or a 304 if the header fields allow it. Throws for any other answer.
    func page(_ address: HTTPAddress, headers: HeaderFields, timeout: Duration?) async throws(Failure) -> HTTPResponse

    /// Secrets that an answer may echo.
    var hidden: [String] { get }
}

extension Snapshot {
    fileprivate var pageFingerprint: String { Fingerprint.of("page", title, pageText).hex }
}
