import BellhopCore

/// One request to ETO's services after the login.
struct ETOCall: Sendable {
    var method = "GET"
    /// The path below `/API/`, with the query.
    var target: String
    var body: JSON?
    /// The program that must be current on the server; nil if it does not matter.
    var program: ETOProgram?
    /// The part of the configuration that names the program, for messages.
    var namedBy = "the source"
    /// Whether to keep the current program. It belongs to the account, so a running agent of Bellhop may depend on it.
    var keepsProgram = false
    var changesSomething = false
    /// The request is not sent after this moment, including time spent waiting for its turn.
    var notAfter: Timestamp?
    /// Nil for the connection's timeout.
    var timeout: Duration?

    static func get(_ path: String, _ parameters: [(String, String)] = []) -> ETOCall {
        ETOCall(target: path + (parameters.isEmpty ? "" : "?" + PercentEncoding.query(parameters)))
    }

    /// Requests the responses to a TouchPoint for a subject; for all subjects if it is nil, which the server may not support.
    static func responses(of touchPoint: Int64, subject: Int64?) -> ETOCall {
        get(
            "TouchPoint.svc/ListTouchPointResponses",
            (subject.map { [("SubjectID", String($0))] } ?? []) + [("TouchPointID", String(touchPoint))])
    }

    static func touchPoint(_ id: Int64) -> ETOCall { get("TouchPoint.svc/GetTouchPoint", [("TouchPointID", String(id))]) }

    static func response(_ id: String, of touchPoint: Int64) -> ETOCall {
        get(
            "TouchPoint.svc/GetTouchPointResponse",
            [("TouchPointID", String(touchPoint)), ("TouchPointResponseID", id), ("PopulateElementCollection", "true")])
    }
}

/// A program, as the configuration names it.
enum ETOProgram: Sendable, Hashable {
    case id(Int64)
    case name(String)

    /// A text of digits only is an id. Nil for an empty text.
    init?(_ text: String) {
        let text = String(ASCII.trimmed(text))
        if text.isEmpty { return nil }
        self = Int64(text).map(ETOProgram.id) ?? .name(text)
    }

    var text: String {
        switch self {
        case .id(let number): String(number)
        case .name(let name): name
        }
    }
}

/// A successful answer; an empty body means null.
struct ETOReply: Sendable {
    var status: Int
    var body: [UInt8]

    var isNothing: Bool { body.allSatisfy { $0 <= 0x20 } || body.filter { $0 > 0x20 } == Array("null".utf8) }

    func json(from place: String) throws(Failure) -> JSON {
        if isNothing { return .null }
        do throws(JSONError) {
            return try JSON.parse(body)
        } catch {
            throw Failure.badAnswer("\(place) did not answer with JSON: \(error.description).")
        }
    }
}

/// A choice: an enterprise by its GUID, or a site or program by its number.
struct ETOChoice: Sendable, Hashable {
    /// The services' key: a GUID for enterprises, otherwise a whole number.
    var key: String
    var name: String
}

extension ETOChoice {
    /// Reads `{"Key": …, "Value": …}`, whose key is a text or a number. Nil for anything else.
    init?(_ json: JSON) {
        guard let key = json["Key"].map(ItemValue.text), !key.isEmpty else { return nil }
        self.init(key: key, name: json["Value"].textOrEmpty)
    }

    /// The programs that are not disabled.
    static func programs(_ reply: ETOReply, _ place: String) throws(Failure) -> [ETOChoice] {
        guard let items = try reply.json(from: place).asArray else {
            throw Failure.badAnswer("\(place) did not answer with a list of programs.")
        }
        return items.compactMap { item in
            guard item["Disabled"]?.asBool != true, let id = item["ID"].map(ItemValue.text), Int64(id) != nil else { return nil }
            return ETOChoice(key: id, name: item["Name"].textOrEmpty)
        }
    }
}
