public import BellhopCore

/// Reads the bodies of requests.
enum InboundBody {
    static let maxItems = 1000

    /// The elements of the list at the path; without a path, the body itself as the only item.
    static func items(_ body: JSON, at path: JSON.Path?) throws(InboundAnswer) -> [JSON] {
        guard let path else { return [body] }
        guard let list = body[path]?.asArray else {
            throw InboundAnswer(400, path.steps.isEmpty ? "The body is not a list." : "The body has no list at `\(path)`.")
        }
        guard list.count <= maxItems else {
            throw InboundAnswer(413, "The list at `\(path)` has more than \(maxItems) items.")
        }
        return list
    }

    /// Parses JSON or a form. If a form has only the field `payload`, parses that field's JSON instead.
    static func json(_ request: InboundRequest) throws(InboundAnswer) -> JSON {
        let type = request.value("content-type")?.lowercased() ?? ""
        if type.hasPrefix("application/x-www-form-urlencoded") {
            var form: JSON.Object = [:]
            guard let text = String(validating: request.body, as: UTF8.self), let pairs = PercentEncoding.validPairs(text) else {
                throw InboundAnswer(400, "The form is not UTF-8.")
            }
            for (name, value) in pairs { form[name] = .string(value) }
            guard form.count == 1, let payload = form["payload"]?.asString else { return .object(form) }
            return try parsed(Array(payload.utf8))
        }
        return try parsed(request.body)
    }

    private static func parsed(_ bytes: [UInt8]) throws(InboundAnswer) -> JSON {
        let body: JSON
        do { body = try JSON.parse(bytes) } catch { throw InboundAnswer(400, "The body is not JSON.") }
        try answerChallenge(in: body)
        return body
    }

    /// Throws the answer that Slack wants before it sends events to an address: the `challenge` of the body.
    static func answerChallenge(in body: JSON) throws(InboundAnswer) {
        guard body["type"] == "url_verification", let challenge = body["challenge"]?.asString else { return }
        throw InboundAnswer(200, challenge)
    }
}

/// Finds the tasks in a body.
public struct TaskReading: Sendable {
    /// The source's name.
    public var source: String
    /// The path to the list of items; nil if the whole body is one task.
    public var items: JSON.Path?
}
