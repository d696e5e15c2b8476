import BellhopCore

/// Why the admin endpoint refuses a request.
struct AdminProblem: Error, Sendable, Hashable {
    var status = 400
    var message: String
}

/// A JSON object whose members are read one by one. Members that were not read are refused at the end.
struct AdminForm {
    private var left: [String: JSON] = [:]
    private var known: [String] = []

    init(_ request: ReceivedRequest) throws(AdminProblem) { self.init(try AdminForm.body(of: request)) }

    init(_ value: JSON) {
        for (name, member) in value.asObject ?? [:] { left[name] = member }
        if value.asObject == nil { left["(no object)"] = value }
    }

    static func body(of request: ReceivedRequest) throws(AdminProblem) -> JSON { try json(request.body) }

    static func json(_ bytes: [UInt8]) throws(AdminProblem) -> JSON {
        do { return try JSON.parse(bytes) } catch {
            throw AdminProblem(message: "\(error)")
        }
    }

    func has(_ name: String) -> Bool { left[name] != nil }

    private mutating func take<Value>(_ name: String, _ kind: String, _ read: (JSON) -> Value?) throws(AdminProblem) -> Value? {
        known.append(name)
        guard let value = left.removeValue(forKey: name), value != .null else { return nil }
        guard let read = read(value) else { throw AdminProblem(message: "'\(name)' must be \(kind)") }
        return read
    }

    mutating func text(_ name: String) throws(AdminProblem) -> String? { try take(name, "a text", \.asString) }
    mutating func int(_ name: String) throws(AdminProblem) -> Int? { try take(name, "a whole number", \.asWhole) }
    mutating func double(_ name: String) throws(AdminProblem) -> Double? { try take(name, "a number", \.asDouble) }
    mutating func bool(_ name: String) throws(AdminProblem) -> Bool? { try take(name, "true or false", \.asBool) }

    mutating func value(_ name: String) throws(AdminProblem) -> JSON? { try take(name, "a value") { $0 } }

    mutating func texts(_ name: String) throws(AdminProblem) -> [String]? {
        try take(name, "a list of texts") { value in
            guard let elements = value.asArray else { return nil }
            let texts = elements.compactMap(\.asString)
            return texts.count == elements.count ? texts : nil
        }
    }

    /// An object whose values are texts, numbers or booleans, as raw values of columns.
    mutating func values(_ name: String) throws(AdminProblem) -> [String: String]? {
        try take(name, "an object of raw values") { value in
            guard let members = value.asObject else { return nil }
            var values: [String: String] = [:]
            for (name, member) in members {
                guard let text = member.scalarText else { return nil }
                values[name] = text
            }
            return values
        }
    }

    mutating func choice<Choice: RawRepresentable<String>>(_ name: String, _: Choice.Type) throws(AdminProblem) -> Choice? {
        try take(name, "a known value") { $0.asString.flatMap(Choice.init(rawValue:)) }
    }

    /// A set of known values, given as a list of their names; `kind` names one of them in a message.
    mutating func choices<Choice: RawRepresentable<String>>(
        _ name: String, _: Choice.Type, kind: String
    ) throws(AdminProblem) -> Set<Choice>? where Choice: CaseIterable & Hashable {
        guard let names = try texts(name) else { return nil }
        var choices: Set<Choice> = []
        for name in names {
            guard let choice = Choice(rawValue: name) else {
                let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
                throw AdminProblem(message: "no \(kind) '\(name)'; known: \(known)")
            }
            choices.insert(choice)
        }
        return choices
    }

    mutating func required<Value>(_ name: String, _ value: Value?) throws(AdminProblem) -> Value {
        guard let value else { throw AdminProblem(message: "'\(name)' is missing") }
        return value
    }

    mutating func requiredText(_ name: String) throws(AdminProblem) -> String { try required(name, try text(name)) }
    mutating func requiredInt(_ name: String) throws(AdminProblem) -> Int { try required(name, try int(name)) }

    mutating func requiredStatus() throws(AdminProblem) -> Int {
        let status = try requiredInt("status")
        guard 200..<600 ~= status else { throw AdminProblem(message: "'status' is from 200 to 599") }
        return status
    }

    func end() throws(AdminProblem) {
        if let unknown = left.keys.min() {
            throw AdminProblem(message: "no member '\(unknown)'; known: \(known.joined(separator: ", "))")
        }
    }
}
