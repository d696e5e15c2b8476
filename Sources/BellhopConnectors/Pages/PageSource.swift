public import BellhopCore
import Synchronization

/// One page of an instance or a site as a source of kind `page`: what it says, and what of that changed.
///
/// A page is one thing that is always there: where it cannot be read, the source fails, and nothing is told as changed.
public struct PageSource: ProbedSource {
    public let name: String
    public let scope: Scope
    public let schema = TaskSchema([])
    public var shows: RecordKind { .page }
    public var hidesChanges: Bool { false }
    private let address: HTTPAddress
    private let preload: [HTTPAddress]
    private let reading: PageWatch
    private let host: any PageHost
    private let key: TaskKey
    private let timeout: Duration?
    /// What must not be read anywhere, wherever in the page's address it stands.
    private let secrets: [String]
    private let latest = Latest()

    /// What is known between two questions of one poll.
    ///
    /// A class over a lock, because a source is a value and its polls are methods of their own.
    private final class Latest: Sendable {
        struct State {
            var isWarm = false
            var snapshot: Snapshot?
        }
        let state = Mutex(State())
    }

    /// - Parameter settings: checked against ``manifest``.
    init(name: String, settings: Settings, base: HTTPAddress, user: String, host: any PageHost) throws(ConnectorError) {
        func address(_ text: String, _ setting: String) throws(ConnectorError) -> HTTPAddress {
            do throws(HTTPAddress.Problem) {
                return try base.inside(text)
            } catch {
                throw ConnectorError(connection: name, setting: setting, error.message)
            }
        }
        self.name = name
        self.host = host
        self.address = try address(settings.text("path") ?? "", "path")
        var preload: [HTTPAddress] = []
        for text in settings.texts("preload") { preload.append(try address(text, "preload")) }
        self.preload = preload
        reading = try PageWatch(settings, source: name)
        timeout = settings.duration("timeout")
        secrets = settings.secrets
        let path = Redaction.scrub(String(self.address.path.dropFirst()), of: secrets).replacing(Redaction.mark, with: "-")
        key = TaskKey(path.isEmpty ? "index" : path)
        var said: JSON.Object = ["target": .string(self.address.target)]
        for setting in ["select", "extract", "ignore"] { said[setting] = settings.values[setting] }
        scope = Scope(
            instance: self.address.origin, user: user, kind: Self.manifest.kind,
            query: Fingerprint(content: JSON.object(said).encoded(.sorted)).hex)
    }

    public func list(from standing: Standing) async throws(Failure) -> Answer {
        let notices = await warm()
        let validators = standing.answer == nil ? Validators() : Validators(standing.cursor)
        guard let response = try await page(validators) else {
            return Answer(
                listing: Listing(), coverage: .same, fingerprint: standing.answer ?? .zero, cursor: standing.cursor,
                notices: notices)
        }
        let snapshot = try snapshot(response)
        latest.state.withLock { $0.snapshot = snapshot }
        do throws(ListingError) {
            // A record that says which text the page has, and no more.
            let listing = try Listing(records: [(key, ["print": .string(snapshot.pagePrint)])])
            return Answer(
                listing: listing, fingerprint: Fingerprint(content: listing.body), cursor: Validators(response.headers).cursor,
                notices: notices)
        } catch {
            throw Failure(.badAnswer, .retry(after: nil), error.description)
        }
    }

    public func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        var details = Details()
        let snapshot = latest.state.withLock { $0.snapshot }
        // After an answer that nothing changed there is no text here: it is read once more.
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

    var probe: HTTPRequest? {
        HTTPRequest(address, headers: ["Accept": "text/html, */*;q=0.5"], timeout: timeout)
    }

    func words(for response: HTTPResponse) throws(Failure) -> String {
        let count = try snapshot(response).pageText.count
        return "a page with \(count) character\(count == 1 ? "" : "s") of text"
    }

    /// The page; nil where it is the one that these validators are of.
    private func page(_ validators: Validators) async throws(Failure) -> HTTPResponse? {
        let response: HTTPResponse
        do throws(Failure) {
            response = try await host.page(address, headers: validators.headers, timeout: timeout)
        } catch {
            throw Failure(error.reason, error.remedy, Redaction.scrub(error.message, of: secrets))
        }
        guard response.status == 304 else { return response }
        guard validators != Validators() else {
            throw Failure(.badAnswer, .retry(after: nil), "The page \(place) is said to be unchanged (304) unasked.")
        }
        return nil
    }

    /// The page for messages.
    private var place: String { Redaction.scrub("\(address)", of: secrets) }

    private func snapshot(_ response: HTTPResponse) throws(Failure) -> Snapshot {
        guard !response.body.isEmpty else {
            throw Failure(.badAnswer, .retry(after: nil), "The page \(place) is empty.")
        }
        try refuseSubstitute(response)
        guard reading.isSelective || !LoginPage.isOne(response.body) else {
            throw Failure(
                .unexpectedPage, .retry(after: nil),
                "The page \(place) asks for a login. Where that is the page you want, `select` what of it is to be watched.")
        }
        let read: PageWatch.Reading?
        do throws(PageWatch.Problem) {
            read = try reading.read(response.body, type: response.headers["Content-Type"] ?? "")
        } catch {
            throw Failure(.badAnswer, .retry(after: nil), "The page \(place) cannot be watched: \(error.message).")
        }
        guard let read else {
            throw Failure(
                .badAnswer, .retry(after: nil),
                "The page \(place) has nothing that `select` asks for: it may be another page now.")
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

    /// Fails for what a server says in the place of any page: that it hibernates, or an error as JSON. A connection of kind servicenow has
    /// seen to it before.
    private func refuseSubstitute(_ response: HTTPResponse) throws(Failure) {
        if LoginPage.isHibernating(response.body) {
            throw Failure(
                .hibernating, .retry(after: .seconds(300)),
                "The page \(place) is not there: its instance is hibernating; somebody must wake it at developer.servicenow.com.")
        }
        let first = response.body.first { !" \t\r\n\u{FEFF}".utf8.contains($0) }
        if first == UInt8(ascii: "{"),
            let words = RESTError.words(in: response.body, under: ["error"], hiding: secrets + host.hidden)
        {
            throw Failure(
                .serverError, .retry(after: nil),
                "The page \(place) is answered with an error as JSON (\(response.status)): \(words).")
        }
    }

    /// Asks once for the addresses to be warmed, before the first poll. Failures are told, and stop nothing.
    private func warm() async -> [String] {
        let isFirst = latest.state.withLock { state in
            defer { state.isWarm = true }
            return !state.isWarm
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

    /// What bellhop.yaml may say of a source of kind `page`, besides what every source has.
    public static let manifest = SourceManifest(
        kind: "page", summary: "What one page says; it emits `page_changed`.", connections: ["servicenow", "http"],
        settings: [
            Setting(
                "path", .text, required: true,
                "The page: a path below the connection's address, or a whole address of the same host."),
            Setting(
                "preload", .list(.text), "Pages that are asked for once before the first poll, so that the server has them ready."
            ),
        ] + PageWatch.settings + [
            Setting("timeout", .duration, least: "1ms", "How long a request may take; by default the connection's.")
        ])
}

/// Somebody who has pages and knows who asks.
protocol PageHost: Sendable {
    /// A page as it is, or a 304 where the header fields say that this is enough; anything else fails.
    func page(_ address: HTTPAddress, headers: HeaderFields, timeout: Duration?) async throws(Failure) -> HTTPResponse

    /// What an answer may repeat and nobody may read.
    var hidden: [String] { get }
}

extension Snapshot {
    /// What tells the texts and titles of a page apart.
    fileprivate var pagePrint: String { Fingerprint.of("page", title, pageText).hex }
}
