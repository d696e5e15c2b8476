public import BellhopCore
import Synchronization

/// Sends a request described by a rule, to a connection of kind `webhook` or to an address in the rule.
///
/// Each request has a `webhook-id`, the delivery's name, which is the same for every attempt, so that the receiver can ignore
/// duplicates.
public struct WebhookAction: Action {
    public static let manifest = ActionManifest(
        kind: "webhook", summary: "Sends an HTTP request.", receiver: .namedOrAddress,
        arguments: [
            Setting(
                "url", .address,
                "The address, instead of that of the connection in `to`. With `to`, the connection's rate, proxy, certificates and time limit apply; its headers, password and signature are only sent to its own host."
            ),
            Setting("to", .list(.name), "The `webhook` connections that receive it."),
            Setting(
                "allow_private", .boolean,
                "Whether a computed host in `url` may be this machine or in a private network, and have any port; a connection can allow it "
                    + "too, or only more `ports`."),
            Setting("method", .oneOf(RequestArguments.methods), default: "POST", "The request's method."),
        ] + RequestArguments.settings(headers: .text) + [
            Setting("sign", .boolean, "Whether to sign it with the connection's `secret`; by default if there is one."),
            StatusSet.setting,
        ], retry: .days, exclusive: [RequestArguments.bodies])

    enum Target: Sendable {
        case connection(Hook, WebhookSigner?)
        /// The rule's own `url`: the first client is for hosts written in the rule, the second for hosts from values.
        case direct(HTTPConnection, guarded: HTTPConnection)
    }

    private let target: Target
    private let addresses = AddressCache()

    init(_ target: Target) { self.target = target }

    /// Posts to the address in each step.
    /// - Parameter guarded: for addresses that a rule computes.
    public init(over http: HTTPConnection, guarded: HTTPConnection) { target = .direct(http, guarded: guarded) }

    public var executor: (any TaskExecutor)? {
        switch target {
        case .connection(let hook, _): hook.exchange.executor
        case .direct(let open, _): open.executor
        }
    }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let arguments = try delivery.values()
        let (hook, signer, isOwn) = try place(arguments)
        var call = try WebhookCall(arguments, to: hook.address, delivery: delivery)
        if call.sign ?? (signer != nil) {
            guard let signer else {
                throw Failure.badArguments(
                    "`sign` needs a connection of kind webhook with a `secret`, which signs only requests to its own host; there is none for \(hook.label)."
                )
            }
            let signed = signer.headers(id: delivery.id.text, body: call.request.body ?? [], at: attempt.now)
            call.request.headers = call.request.headers.with(signed)
        }
        call.request.addTraceContext()
        do throws(Failure) {
            let response = try await hook.send(call.request, expecting: call.expected, at: attempt.now)
            return Receipt("\(response.status) from \(hook.label)").from(ownHost: isOwn)
        } catch {
            throw error.from(ownHost: isOwn)
        }
    }

    /// - Returns: also whether the address has the delivery's receiver behind it: not if a step sends to another host over a connection.
    private func place(_ arguments: JSON.Object) throws(Failure) -> (Hook, WebhookSigner?, isOwn: Bool) {
        let isGuarded = arguments[ActionManifest.computedHost] == true && arguments["allow_private"] != true
        switch target {
        case .connection(let hook, let signer):
            guard let url = arguments["url"]?.asString else { return (hook, signer, true) }
            let address = try addresses.address(url)
            if address.hasOrigin(of: hook.address) { return (hook.with(address), signer, true) }
            guard let others = hook.others else { throw Failure.badArguments("\(hook.label) sends nothing to other hosts.") }
            return (Hook(name: nil, address: address, exchange: isGuarded ? others.guarded : others.open), nil, false)
        case .direct(let open, let guarded):
            let address = try addresses.address(arguments["url"].textOrEmpty)
            return (Hook(name: nil, address: address, exchange: isGuarded ? guarded : open), nil, true)
        }
    }
}

/// A cache of parsed addresses: rules repeat the same ones, and parsing them takes 2 % of the instructions of `webhook.rate`.
///
/// A class with a mutex, because all deliveries of an action share it.
private final class AddressCache: Sendable {
    private static let most = 32
    private let known = Mutex<[String: HTTPAddress]>([:])

    func address(_ text: String) throws(Failure) -> HTTPAddress {
        if let address = known.withLock({ $0[text] }) { return address }
        let address: HTTPAddress
        do throws(InvalidValue) { address = try HTTPAddress(ASCII.trimmed(text)) } catch {
            throw Failure.badArguments(error.message)
        }
        known.withLock { known in
            if known.count >= Self.most { known = [:] }
            known[text] = address
        }
        return address
    }
}

/// The request of a step of kind `webhook`, made from its arguments.
struct WebhookCall: Sendable, Hashable {
    var request: HTTPRequest
    var expected: StatusSet
    /// The step's `sign`; nil if not set.
    var sign: Bool?

    /// - Parameter address: the address without the step's `query`.
    init(_ arguments: JSON.Object, to address: HTTPAddress, delivery: Delivery) throws(Failure) {
        do throws(RequestArguments.Problem) {
            let parts = try RequestArguments(arguments, method: "POST")
            request = parts.request(to: address, notAfter: delivery.expires)
            expected = try StatusSet.expected(arguments)
            request.bodyNotNeededFor = .any
        } catch {
            throw error.failure
        }
        request.headers["webhook-id"] = delivery.id.text
        sign = Settings(arguments).boolean("sign")
    }
}
