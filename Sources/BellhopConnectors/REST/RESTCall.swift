import BellhopCore

/// The request that a step of kind `rest` asks for, made from its arguments, and what its answer must say.
struct RESTCall: Sendable {
    var request: HTTPRequest
    var expected: StatusSet
    /// False where sending it again might do twice what was asked once, and the rule does not want that.
    var isRepeatable: Bool
    private let checks: [(path: JSON.Path, text: String, value: JSON)]
    private let receipt: JSON.Path?

    init(_ arguments: JSON.Object, to base: HTTPAddress, delivery: Delivery) throws(Failure) {
        do throws(RequestArguments.Problem) {
            let parts = try RequestArguments(arguments, method: "POST")
            request = parts.request(to: try Self.address(arguments["path"], in: base), notAfter: delivery.expires)
            expected = try StatusSet.expected(arguments)
            checks = try Self.checks(arguments["check"])
            receipt = try arguments["receipt"]?.asString.map { text throws(RequestArguments.Problem) in
                try Self.path(text, of: "receipt")
            }
        } catch {
            throw error.failure
        }
        // PUT and DELETE done twice are done once (RFC 9110, section 9.2.2).
        let isIdempotent = !["POST", "PATCH"].contains(request.method)
        isRepeatable = isIdempotent || arguments["unanswered"]?.asString != "hold"
        if request.changesSomething, request.headers["Idempotency-Key"] == nil {
            request.headers["Idempotency-Key"] = delivery.id.text
        }
        if request.headers["Accept"] == nil { request.headers["Accept"] = "application/json, */*;q=0.5" }
    }

    /// Sees whether the answer says what it must, and gives back what is to be kept of it.
    func check(_ response: HTTPResponse, by label: String) throws(Failure) -> String? {
        if checks.isEmpty, receipt == nil { return nil }
        guard let json = try? JSON.parse(response.body) else {
            if checks.isEmpty { return nil }
            throw Failure(
                .badAnswer, isRepeatable ? .giveUp : .hold,
                "\(label) answered \(response.status), but with no JSON to be checked: whether it did what was asked is not known."
            )
        }
        for check in checks where json[check.path] != check.value {
            let found = json[check.path].map { Redaction.excerpt(DisplayText.line($0.text), length: 60) } ?? "nothing"
            throw Failure(
                .refused, .giveUp,
                "\(label) answered \(response.status), but `\(check.text)` is \(found), not \(check.value.text).")
        }
        return receipt.flatMap { json[$0] }.map { Redaction.excerpt(DisplayText.line(RequestArguments.words($0)), length: 100) }
    }

    private static func address(_ path: JSON?, in base: HTTPAddress) throws(RequestArguments.Problem) -> HTTPAddress {
        let text: String
        switch path {
        case .array(let parts)?:
            let words = parts.map(RequestArguments.words)
            guard words.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }) else {
                throw RequestArguments.Problem("path", "A part of the path is empty, `.` or `..`.")
            }
            text = "/" + words.map { PercentEncoding.encode($0) }.joined(separator: "/")
        case let value?: text = RequestArguments.words(value)
        case nil: text = ""
        }
        do throws(HTTPAddress.Problem) {
            return try base.inside(text)
        } catch {
            throw RequestArguments.Problem("path", error.message)
        }
    }

    private static func checks(
        _ value: JSON?
    ) throws(RequestArguments.Problem) -> [(path: JSON.Path, text: String, value: JSON)] {
        var checks: [(path: JSON.Path, text: String, value: JSON)] = []
        for (text, value) in value?.asObject ?? [:] { checks.append((try path(text, of: "check"), text, value)) }
        return checks
    }

    private static func path(_ text: String, of setting: String) throws(RequestArguments.Problem) -> JSON.Path {
        guard let path = JSON.Path(text: text), !path.steps.isEmpty else {
            throw RequestArguments.Problem(setting, "`\(text)` is no path: write names with dots between them.")
        }
        return path
    }
}
