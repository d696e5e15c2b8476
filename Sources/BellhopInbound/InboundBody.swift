public import BellhopCore

/// Reads bodies.
enum InboundBody {
    /// The most items of a body.
    static let mostItems = 1000

    /// The items of a body: the elements of the list at the path, or without a path the body itself.
    static func items(_ body: JSON, at path: JSON.Path?) throws(InboundAnswer) -> [JSON] {
        guard let path else { return [body] }
        guard let list = body[path]?.asArray else { throw InboundAnswer(400, "The body has no list at `\(path)`.") }
        guard list.count <= mostItems else {
            throw InboundAnswer(413, "The list at `\(path)` has more than \(mostItems) items.")
        }
        return list
    }

    /// A JSON body, or a form; the JSON of a form with one field `payload` is the body itself.
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
        do { return try JSON.parse(bytes) } catch { throw InboundAnswer(400, "The body is not JSON.") }
    }
}

/// How an endpoint finds the tasks in a body.
public struct TaskReading: Sendable {
    /// The source's name.
    public var source: String
    /// Where the list of items is; nil if the whole body is one task.
    public var items: JSON.Path?

    public init(source: String, items: JSON.Path? = nil) {
        self.source = source
        self.items = items
    }
}
