public import BellhopCore

/// Calls an adapter, a back-end service or a resource outside.
///
/// A call that changes something and is not known to bear repetition is sent once: after an outcome that nobody knows there is nothing to
/// look at, so a person decides.
public struct AdapterAction: Action {
    /// What a rule may say of a step of kind `adapter`.
    public static let manifest = ActionManifest(
        kind: "adapter", summary: "Calls an adapter of Mobile Foundation.", receiver: .named,
        arguments: [Setting("to", .list(.name), required: true, "The connections of kind mobilefirst that get it.")]
            + AdapterRequest.settings + [
                Setting("method", .oneOf(AdapterRequest.methods), default: "POST", "The request's method."),
                Setting(
                    "timeout", .duration, least: "1ms", "How long it may take, its answer included; by default the connection's."),
                Setting(
                    "repeatable", .boolean,
                    "Whether calling it twice is the same as calling it once; by default so for GET, PUT and DELETE."),
            ])

    private let connection: MobileFoundationConnection

    public init(connection: MobileFoundationConnection) { self.connection = connection }

    public func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        guard case .values(let arguments) = delivery.arguments else {
            throw Failure(.badArguments, .giveUp, "This delivery holds no call; it was made by another version of Bellhop.")
        }
        let request: AdapterRequest
        do throws(AdapterRequest.Problem) {
            request = try AdapterRequest(arguments, method: "POST")
        } catch {
            throw Failure(.badArguments, .giveUp, error.message)
        }
        let mayRepeat = Settings(arguments).boolean("repeatable") ?? ["GET", "PUT", "DELETE"].contains(request.method)
        // A person's retry counts from 1 again.
        guard mayRepeat || attempt.lastUncertain == nil || attempt.number == 1 else {
            throw Failure(
                .notWritten, .hold,
                "An earlier attempt may have called the adapter, and nothing can prove it: look there, then retry or drop the delivery. "
                    + "Write `repeatable: true` for a call that bears repetition.")
        }
        let reply = try await connection.send(request, mayRepeat: mayRepeat, notAfter: delivery.expires)
        return Receipt("\(reply.response.status) from \(reply.place)")
    }
}
