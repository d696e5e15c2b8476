import BellhopCore
import Synchronization

/// The time until which a receiver gets no more messages, after it has accepted one.
///
/// A class over a lock, because deliveries of one connection share it.
final class ReceiverRest: Sendable {
    private let until = Mutex(Timestamp?.none)

    /// The remaining time; nil if the rest has ended.
    func wait(at now: Timestamp) -> Duration? {
        until.withLock { until in
            guard let moment = until, moment > now, moment - now <= RetryAfter.longest else {
                until = nil
                return nil
            }
            return moment - now
        }
    }

    func extend(by duration: Duration, from now: Timestamp) { until.withLock { $0 = max($0 ?? now, now + duration) } }
}

struct HookConnection<Receiver: HookReceiver>: MessageReceiver, Connection {
    static var kind: ConnectionKind {
        ConnectionKind(
            ConnectionManifest(
                kind: Receiver.kind, summary: Receiver.summary, actions: Receiver.actions, messages: Receiver.messages,
                limits: Receiver.limits, settings: Receiver.settings + httpSettings,
                addresses: Receiver.addresses, starter: Receiver.starter),
            login: { _ in .none(Receiver.noLogin) },
            makeReportingAll: { name, settings, environment throws(ConnectorErrors) in
                try HookConnection(name: name, settings: settings, in: environment)
            },
            body: { message, delivery, settings in
                Receiver.body(Receiver.render(message, from: MessageOrigin(delivery)), message, delivery, settings)
            }, canMention: { Receiver.canMention($0) })
    }

    private static var httpSettings: [Setting] {
        HTTPConnection.Configuration.settings.map { setting in
            var setting = setting
            if setting.name == "max_body" { setting.fallback = TransportError.size(Receiver.largestAnswer).filter { $0 != " " } }
            return setting
        }
    }

    private let receiver: Receiver
    private let hook: Hook
    private let http: HTTPConnection
    private let abilities: MessageAbilities
    private let rest = ReceiverRest()

    /// - Parameter settings: checked against the manifest.
    init(name: String, settings: Settings, in environment: ConnectorEnvironment) throws(ConnectorErrors) {
        var problems = ConnectorProblems(of: name)
        var configuration = problems.gather { () throws(ConnectorError) in
            try HTTPConnection.Configuration(name: name, settings)
        }
        if settings.values["max_body"] == nil { configuration?.maxBody = Receiver.largestAnswer }
        let address = problems.gather("url") { () throws(InvalidValue) in try Receiver.address(settings) }
        if let refusal = address.flatMap({ Self.refusal(of: $0, settings, configuration) }) { problems.add("url", refusal) }
        let receiver = problems.gather { () throws(ConnectorErrors) in try Receiver(settings, connection: name) }
        guard let configuration, let address, let receiver, problems.all.isEmpty else { throw ConnectorErrors(problems.all) }
        self.receiver = receiver
        abilities = Receiver.messages.with(settings)
        let others: OtherAddresses?
        do throws(ConnectorError) {
            http = try HTTPConnection(configuration, in: environment)
            others =
                Receiver.takesOtherAddresses
                ? try OtherAddresses(
                    configuration, allowsPrivate: settings.boolean("allow_private") == true,
                    morePorts: settings.integers("ports"), in: environment) : nil
        } catch {
            throw ConnectorErrors([error])
        }
        hook = Hook(
            name: name, address: address, exchange: http,
            secrets: configuration.headers.fields.map(\.value) + receiver.secrets, others: others)
    }

    /// Why the address is refused: it belongs to another kind of service, or its requests could be read by others.
    private static func refusal(
        of address: HTTPAddress, _ settings: Settings, _ configuration: HTTPConnection.Configuration?
    ) -> String? {
        let written = settings.text("url").flatMap { try? HTTPAddress(ASCII.trimmed($0)) }
        return written.flatMap { kind.manifest.refusal(of: $0, settings) } ?? configuration?.refusal(of: address)
    }

    var executor: (any TaskExecutor)? { http.executor }

    func send(_ message: Message, for delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        if let wait = rest.wait(at: http.clock.now) {
            throw Failure(.throttled, .rest(wait), "\(hook.label) takes no more messages for now: its rate limit is used up.")
        }
        let body = Receiver.render(message, from: MessageOrigin(delivery))
        // The settings may name another chat than when the conversation began.
        let first = attempt.firstMessage.flatMap { $0["chat"] == receiver.chat ? $0 : nil }
        let place = MessagePlace(message, firstMessage: first, abilities)
        var call = MessageCall(message: message, delivery: delivery, place: place, address: hook.address, now: attempt.now)
        if try await isFirstMessageDeleted(call) { call.place = .new }
        var response = try await hook.answer(to: try request(body, call))
        if call.place != .new, receiver.isGone(response) {
            call.place = .new
            response = try await hook.answer(to: try request(body, call))
        }
        if let duration = receiver.rest(after: response), duration > .zero { rest.extend(by: duration, from: http.clock.now) }
        if let failure = receiver.refusal(in: response, from: hook, at: attempt.now), !receiver.isDone(response) { throw failure }
        if case .reply = call.place, receiver.standsAlone(response) { call.place = .new }
        let change = call.place.change(message, reference: reference(in: response))
        return Receipt("\(response.status) from \(hook.label)", conversation: change)
    }

    private func isFirstMessageDeleted(_ call: MessageCall) async throws(Failure) -> Bool {
        guard call.place != .new, var request = try receiver.lookUp(call) else { return false }
        request.bodyNotNeededFor = .temporary
        let response = try await hook.answer(to: request)
        if let failure = receiver.refusal(in: response, from: hook, at: call.now), failure.isTemporary { throw failure }
        return receiver.isGone(response)
    }

    private func reference(in response: HTTPResponse) -> JSON? {
        var reference = receiver.reference(in: response)
        if let chat = receiver.chat { reference?["chat"] = chat }
        return reference
    }

    /// The request. The body of an answer with a temporary failure is not needed, and may be long or slow. The bodies of other
    /// refusals are read, because they contain the reason, such as a deleted message.
    private func request(_ body: JSON, _ call: MessageCall) throws(Failure) -> HTTPRequest {
        var request = try receiver.request(body, call)
        request.bodyNotNeededFor = request.bodyNotNeededFor ?? .temporary
        return request
    }

    var limits: ReceiverLimits { http.limits(Receiver.limits) }

    func action(_ kind: String) -> (any Action)? {
        kind == NotifyAction.manifest.kind ? NotifyAction(self) : receiver.action(kind, over: hook)
    }

    func examine(_ needs: ConnectionNeeds) async -> [Finding] {
        var findings = await NetworkExamination(configuration: http.configuration, address: hook.address, clock: http.clock)
            .findings()
        for probe in receiver.probes(of: hook) {
            // After one failure, further probes would only repeat it.
            if findings.contains(where: { $0.state == .missing }) { break }
            findings.append(await probe.finding(over: hook, at: http.clock.now))
        }
        return findings
    }

    func shutdown() async throws {
        try await http.shutdown()
        try await hook.others?.shutdown()
    }
}
