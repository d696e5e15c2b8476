import BellhopCore

/// One thing asked of ETO's services after the login.
struct ETOCall: Sendable {
    var method = "GET"
    /// Below `/API/`, with the query.
    var target: String
    var body: JSON?
    /// Which program must be the current one on the server; nil where it does not matter.
    var program: ETOProgram?
    /// Who names the program, as messages call them.
    var whose = "the source"
    /// Whether the current program stays what it is: it is the account's, and an agent may be at work in it.
    var leavesProgram = false
    /// Whether asking twice is not the same as asking once.
    var changesSomething = false
    /// Once this moment has passed it is not sent any more, a wait for its turn included.
    var notAfter: Timestamp?
    /// Nil for the connection's own.
    var timeout: Duration?

    static func get(_ path: String, _ parameters: [(String, String)] = []) -> ETOCall {
        ETOCall(target: path + (parameters.isEmpty ? "" : "?" + PercentEncoding.query(parameters)))
    }

    /// The responses of a TouchPoint that are of a subject; of whomever, where the server takes that, without one.
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

    /// Digits alone are an id. Nil for an empty text.
    init?(_ text: String) {
        let text = String(ASCII.trimmed(text))
        if text.isEmpty { return nil }
        self = Int64(text).map(ETOProgram.id) ?? .name(text)
    }
}

/// A good answer; an empty body stands for null.
struct ETOReply: Sendable {
    var status: Int
    var body: [UInt8]

    var isNothing: Bool { body.allSatisfy { $0 <= 0x20 } || body.filter { $0 > 0x20 } == Array("null".utf8) }

    /// The body, read.
    func json(from place: String) throws(Failure) -> JSON {
        if isNothing { return .null }
        do throws(JSONError) {
            return try JSON.parse(body)
        } catch {
            throw Failure(.badAnswer, .retry(after: nil), "\(place) answered something else than JSON: \(error.description).")
        }
    }
}

/// Something to choose: an enterprise by its GUID, a site or program by its number.
struct ETOChoice: Sendable, Hashable {
    /// What the services call it: a GUID for enterprises, a whole number for the rest.
    var key: String
    var name: String

    init(key: String, name: String) {
        self.key = key
        self.name = name
    }

    /// Reads `{"Key": …, "Value": …}`: the key is text for some and a number for others. Nil for anything else.
    init?(_ json: JSON) {
        guard let key = json["Key"].map(ItemValue.text), !key.isEmpty else { return nil }
        self.init(key: key, name: json["Value"]?.asString ?? "")
    }

    /// The programs that are in use.
    static func programs(_ reply: ETOReply, _ place: String) throws(Failure) -> [ETOChoice] {
        guard let items = try reply.json(from: place).asArray else {
            throw Failure(.badAnswer, .retry(after: nil), "\(place) answered something else than a list of programs.")
        }
        return items.compactMap { item in
            guard item["Disabled"]?.asBool != true, let id = item["ID"].map(ItemValue.text), Int64(id) != nil else { return nil }
            return ETOChoice(key: id, name: item["Name"]?.asString ?? "")
        }
    }
}
