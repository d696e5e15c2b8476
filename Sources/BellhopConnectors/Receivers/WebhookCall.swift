import BellhopCore

/// The request of a step of kind `webhook`, made from its arguments.
struct WebhookCall: Sendable, Hashable {
    var request: HTTPRequest
    var expected: StatusSet
    /// Whether the step demands a signature; nil if not set.
    var sign: Bool?

    /// - Parameter address: the address without the step's `query`.
    init(_ arguments: JSON.Object, to address: HTTPAddress, delivery: Delivery) throws(Failure) {
        do throws(RequestArguments.Problem) {
            let parts = try RequestArguments(arguments, method: "POST")
            request = parts.request(to: address, notAfter: delivery.expires)
            expected = try StatusSet.expected(arguments)
        } catch {
            throw error.failure
        }
        request.headers["webhook-id"] = delivery.id.text
        sign = Settings(arguments).boolean("sign")
    }
}
