public import BellhopCore

/// Sends a request that a rule describes to a connection of kind `http`.
///
/// Each request that is not safe carries `Idempotency-Key`, the delivery's name, which is the same at every attempt: a server that knows the
/// field does nothing twice.
public struct RESTAction: Action {
    /// What a rule may say of a step of kind `rest`.
    public static let manifest = ActionManifest(
        kind: "rest", summary: "Sends a request to an HTTP API: one delivery for each connection in `to`.", receiver: .named,
        arguments: [
            Setting("to", .list(.name), required: true, "The connections of kind http that get it."),
            Setting("method", .oneOf(RequestArguments.methods), default: "POST", "The request's method."),
            Setting(
                "path", .either([.text, .list(.text)]), required: true,
                "Where it goes, below the connection's address; of a list each element is one part, whatever is in it."),
            Setting("headers", .map(.text), "Header fields, besides those of the connection."),
            Setting("query", .map(.json), "Parameters of the address; a list gives one each."),
            Setting("form", .map(.json), "A body as HTML forms send it."),
            Setting("json", .json, "A body in JSON; templates in it keep their types."),
            Setting("text", .text, "A body of plain text."),
            Setting("data", .text, "A body of any bytes, in Base64."),
            Setting(
                "timeout", .duration, "How long it may take, its answer included; by default as long as the connection says."),
            Setting(
                "expect", .list(.either([.integer(100...599), .oneOf(StatusSet.classes)])),
                "The statuses that are success, such as 204 or 2xx; by default 2xx."),
            Setting("check", .map(.json), "Paths in the JSON of the answer, each with the value that it must have there."),
            Setting("receipt", .text, "The path to what is kept of the answer, the number of what was made, say."),
            Setting(
                "unanswered", .oneOf(["repeat", "hold"]), default: "repeat",
                "What becomes of a POST or PATCH whose answer never came: it is sent again under its key, or held for a person."),
        ])

    private let connection: WebConnection

    public init(connection: WebConnection) { self.connection = connection }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        guard case .values(let arguments) = delivery.arguments else {
            throw Failure(.badArguments, .giveUp, "This delivery holds no request; it was made by another version of Bellhop.")
        }
        let call = try RESTCall(arguments, to: connection.base, delivery: delivery)
        let session = connection.session
        try await session.checkPause()
        let hook = Hook(name: connection.name, address: call.request.address, exchange: session, secrets: connection.secrets)
        let response = try await session.known { token throws(Failure) in
            try await hook.send(
                call.request.showing(token), expecting: call.expected, at: attempt.now, isRepeatable: call.isRepeatable)
        }
        let found = try call.check(response, by: hook.label)
        return Receipt("\(response.status) from \(hook.label)" + (found.map { ": \($0)" } ?? ""))
    }
}
