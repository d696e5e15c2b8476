import BellhopCore

/// The answer of an adapter, a back-end service or an external resource as a source of kind `adapter`: each of its items is a
/// task.
struct AdapterSource: Source {
    let name: String
    let scope: Scope
    var schema: TaskSchema { reading.schema }
    private let connection: MobileFoundationConnection
    private let request: AdapterRequest
    private let reading: ItemReading
    private let secrets: [String]

    /// - Parameter settings: checked against ``manifest``.
    init(name: String, settings: Settings, connection: MobileFoundationConnection) throws(ConnectorError) {
        do throws(AdapterRequest.Problem) {
            request = try AdapterRequest(settings.values, method: "GET")
        } catch {
            throw ConnectorError(connection: name, setting: error.setting, error.message)
        }
        do throws(Failure) {
            _ = try connection.address(of: request)
        } catch {
            throw ConnectorError(connection: name, setting: "address", error.message)
        }
        let className =
            switch request.target {
            case .adapter(let name, _), .service(let name, _): name
            case .outside: "resource"
            }
        reading = try ItemReading(settings, source: name, className: className)
        self.name = name
        self.connection = connection
        secrets = settings.secrets
        // A fingerprint, because the request may hold secrets.
        let asked = request.facts.reduce("") { Fingerprint.of("adapter", $0, $1).hex }
        scope = Scope(
            instance: connection.instance, user: connection.clientID, kind: "adapter", query: "\(asked) \(reading.canonical)")
    }

    /// The answer is all the information about an item.
    var hidesChanges: Bool { false }

    func list(from lastPoll: LastPoll) async throws(Failure) -> Answer {
        let listing = try await ask()
        return Answer(listing: listing, fingerprint: reading.fingerprint(of: listing))
    }

    private func ask() async throws(Failure) -> Listing {
        let reply: AdapterReply
        do throws(Failure) {
            reply = try await connection.send(request, expecting: .whole, Repetition(isAllowed: true))
        } catch {
            var failure = error
            // The next answer may be complete, so a retry is right.
            if failure.reason == .badAnswer { failure.remedy = .retry(after: nil) }
            throw failure
        }
        return try reading.listing(reply.response.body, from: reply.place, hiding: reply.secrets + secrets)
    }

    /// Describes the current answer; nil if the request may change something, so it is not sent.
    func probe() async throws(Failure) -> String? {
        guard request.method == "GET" else { return nil }
        let count = try await ask().entries.count
        let scopes = await connection.demandedScopes(of: request).map { ", with the scope \($0.joined(separator: ", "))" } ?? ""
        return "\(counted(count, "item"))\(scopes)"
    }

    func details(of keys: [TaskKey], in listing: Listing) async throws(Failure) -> Details {
        reading.details(of: keys, in: listing, for: name)
    }
}

extension AdapterSource {
    static let manifest = SourceManifest(
        kind: "adapter", summary: "The items that an adapter of Mobile Foundation returns.", connections: ["mobilefirst"],
        settings: AdapterRequest.settings + [
            Setting(
                "method", .oneOf(AdapterRequest.methods), default: "GET",
                "The request's method. It must not change data.")
        ] + ItemReading.settings)
}
