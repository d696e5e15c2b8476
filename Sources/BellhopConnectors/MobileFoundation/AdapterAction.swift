import BellhopCore

/// Calls an adapter, a back-end service or an external resource.
///
/// A call that changes something and is not known to be idempotent is sent once: after an unknown outcome nothing can be checked,
/// so a person decides.
struct AdapterAction: Action {
    static let manifest = ActionManifest(
        kind: "adapter", summary: "Calls an adapter of Mobile Foundation.", receiver: .named,
        arguments: [Setting("to", .list(.name), required: true, "The `mobilefirst` connections that receive it.")]
            + AdapterRequest.settings + [
                Setting("method", .oneOf(AdapterRequest.methods), default: "POST", "The request's method.")
            ] + ExpectedAnswer.settings + [Repetition.setting], exclusive: [RequestArguments.bodies])

    let connection: MobileFoundationConnection

    func perform(_ delivery: Delivery, attempt: Attempt) async throws(Failure) -> Receipt {
        let arguments = try delivery.values()
        let request: AdapterRequest
        let expected: ExpectedAnswer
        do throws(AdapterRequest.Problem) {
            request = try AdapterRequest(arguments, method: "POST")
            expected = try ExpectedAnswer(arguments)
        } catch {
            throw error.failure
        }
        let repetition = Repetition(arguments, method: request.method)
        try await repetition.check(delivery, attempt, at: connection.name, connection.notebook)
        let reply = try await connection.send(request, expecting: expected.statuses, repetition, notAfter: delivery.expires)
        do throws(Failure) {
            let found = try expected.check(reply.response, from: reply.place, hiding: reply.secrets, repetition)
            let receipt = Receipt("\(reply.response.status) from \(reply.place)" + (found.map { ": \($0)" } ?? ""))
            return receipt.from(ownHost: reply.isOwn)
        } catch {
            throw error.from(ownHost: reply.isOwn)
        }
    }
}
