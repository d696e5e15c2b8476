import BellhopCore

/// Sends a request described by a rule to a connection of kind `http`.
///
/// Each unsafe request has an `Idempotency-Key`, the delivery's name, which is the same for every attempt, so that servers with
/// support for it ignore duplicates. Few have it, so a POST or PATCH is sent once unless the rule sets `repeatable`.
struct RESTAction: Action {
    static let manifest = ActionManifest(
        kind: "rest", summary: "Sends a request to an HTTP API: one delivery for each connection in `to`.", receiver: .named,
        arguments: [
            Setting("to", .list(.name), required: true, "The `http` connections that receive it."),
            Setting("method", .oneOf(RequestArguments.methods), default: "POST", "The request's method."),
            Setting(
                "path", .either([.target, .list(.text)]), required: true,
                "The path below the connection's address; each element of a list is one path segment."),
        ] + RequestArguments.settings(headers: .text) + ExpectedAnswer.settings + [Repetition.setting],
        exclusive: [RequestArguments.bodies])

    let connection: WebConnection

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let arguments = try delivery.values()
        let call = try RESTCall(arguments, to: connection.base, delivery: delivery)
        try await call.repetition.check(delivery, attempt, at: connection.name, connection.notebook)
        let session = connection.session
        try await session.checkPause()
        do throws(Failure) {
            return try await session.withToken { token throws(Failure) in
                let hidden = session.hidden
                let hook = Hook(name: connection.name, address: call.request.address, exchange: session, secrets: hidden)
                let response = try await hook.send(
                    call.request.authorized(by: token), expecting: call.expected.statuses, at: attempt.now, call.repetition)
                if arguments["expect"] == nil, ReceiverAnswer.isPage(response) {
                    throw call.repetition.uncertain(
                        .unexpectedPage,
                        "\(hook.label) answered with a web page (\(response.status)) instead of data: a login page, or an intermediary answered. If web pages are expected, set `expect`."
                    )
                }
                if arguments["check"] == nil, response.isSuccess,
                    let words = ReportedError.words(in: response.body, hiding: hidden)
                {
                    throw call.repetition.uncertain(
                        .serverError,
                        "\(hook.label) answered \(response.status), but with an error: \(words). If this is no error, set `check`."
                    )
                }
                let found = try call.expected.check(response, from: hook.label, hiding: hidden, call.repetition)
                return Receipt("\(response.status) from \(hook.label)" + (found.map { ": \($0)" } ?? ""))
            }
        } catch {
            var failure = error
            // The connection cannot be used until its credentials are accepted.
            if failure.reason == .unauthenticated { failure.remedy = .pauseConnection }
            // Only this step's path is gone or has moved: the connection's other paths may be right.
            if failure.remedy == .pauseReceiver { failure.remedy = .giveUp }
            throw failure
        }
    }
}

/// The request of a step of kind `rest`, and the checks of its answer.
struct RESTCall: Sendable {
    var request: HTTPRequest
    var expected: ExpectedAnswer
    var repetition: Repetition

    init(_ arguments: JSON.Object, to base: HTTPAddress, delivery: Delivery) throws(Failure) {
        do throws(RequestArguments.Problem) {
            let parts = try RequestArguments(arguments, method: "POST")
            request = parts.request(to: try Self.address(arguments["path"], in: base), notAfter: delivery.expires)
            expected = try ExpectedAnswer(arguments)
        } catch {
            throw error.failure
        }
        repetition = Repetition(arguments, method: request.method)
        if request.changesSomething, request.headers["Idempotency-Key"] == nil {
            request.headers["Idempotency-Key"] = delivery.id.text
        }
        if request.headers["Accept"] == nil { request.headers["Accept"] = "application/json, */*;q=0.5" }
    }

    private static func address(_ path: JSON?, in base: HTTPAddress) throws(RequestArguments.Problem) -> HTTPAddress {
        try rethrowing(as: { RequestArguments.Problem("path", $0.message) }) { () throws(InvalidValue) in
            let text = try InnerPath.text(path)
            // The first part of a list may look like a scheme.
            return try base.inside(path?.asArray == nil ? text : "/" + text)
        }
    }
}
