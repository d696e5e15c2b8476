import BellhopCore

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
        do throws(HTTPAddress.Problem) {
            let text = try InnerPath.text(path)
            // The first part of a list may look like a scheme.
            return try base.inside(path?.asArray == nil ? text : "/" + text)
        } catch {
            throw RequestArguments.Problem("path", error.message)
        }
    }
}
