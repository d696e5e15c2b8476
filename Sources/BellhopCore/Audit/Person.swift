/// The person who ran the current command: who, on which host, with which command.
///
/// A task-local value, because the audit in the store records it, but no layer between the command and the store uses it.
public struct Person: Sendable, Hashable {
    /// The user's name on this machine.
    public var user: String
    public var host: String
    /// The command without its arguments, such as `deliveries retry`.
    public var command: String

    public init(user: String, host: String, command: String) { (self.user, self.host, self.command) = (user, host, command) }

    /// Nil if no person acts.
    @TaskLocal public static var current: Person?

    public var json: JSON { ["user": .string(user), "host": .string(host), "command": .string(command)] }

    /// Reads the form of `json`; nil for anything else.
    public init?(json: JSON) {
        guard let user = json["user"]?.asString, let host = json["host"]?.asString, let command = json["command"]?.asString else {
            return nil
        }
        self.init(user: user, host: host, command: command)
    }
}
