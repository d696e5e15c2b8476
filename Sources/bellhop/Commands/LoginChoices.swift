import BellhopAgent
import BellhopConnectors
import BellhopCore

/// The choices at a login, such as the enterprise and the site of an ETO account: lists the options, asks for one, and prints the lines
/// for bellhop.yaml.
struct LoginChoices {
    /// The connection's entry; the choices go into its settings.
    private(set) var entry: Configuration.ConnectionEntry
    /// The lines to write under the connection.
    private(set) var lines: [String] = []
    /// The choices made among several, by setting name.
    private(set) var open: JSON.Object = [:]

    init(_ entry: Configuration.ConnectionEntry) { self.entry = entry }

    /// Asks for the choices that bellhop.yaml does not make, through a connection with the login that is being tried.
    mutating func ask(_ connectors: Connectors) async throws(CommandError) {
        var chosen: [String: String] = [:]
        while let question = try await question(connectors, after: chosen) {
            chosen[question.setting] = try pick(question).key
        }
    }

    private func question(_ connectors: Connectors, after chosen: [String: String]) async throws(CommandError) -> LoginQuestion? {
        try await rethrowing(as: { CommandError($0) }) { () async throws(Failure) in
            try await connectors.question(connection: entry.name, after: chosen)
        }
    }

    /// Prints the lines for bellhop.yaml, if there was a choice.
    func report() {
        guard !lines.isEmpty else { return }
        Console.note("Write this under `\(entry.name)` in bellhop.yaml:")
        for line in lines { Console.data(line) }
    }

    private mutating func pick(_ question: LoginQuestion) throws(CommandError) -> LoginQuestion.Choice {
        let (setting, choices) = (question.setting, question.choices)
        if let wanted = entry.settings.text(setting) {
            if let choice = Self.named(wanted, among: choices) { return choice }
            throw CommandError(
                .problem,
                "This account does not have the `\(setting)` that bellhop.yaml names; the choices are \(choices.map(\.name.singleLine).joined(separator: ", "))."
            )
        }
        guard var choice = choices.first else { throw CommandError(.problem, "This account has no \(setting) to choose.") }
        let isOpen = choices.count > 1
        if isOpen {
            Self.list(choices)
            choice = try Self.answer(question)
        }
        // Use the key if the name is ambiguous.
        let isPlain = choices.count { $0.name == choice.name } == 1 && Int64(choice.name) == nil && !choice.name.isEmpty
        let value = choice.showsKey || !isPlain ? choice.key : choice.name
        lines.append("    \(setting): \(JSON.string(value).text)" + (value == choice.name ? "" : "  # \(choice.name.singleLine)"))
        entry.settings.values[setting] = .string(value)
        if isOpen { open[setting] = .string(value) }
        return choice
    }

    private static func named(_ wanted: String, among choices: [LoginQuestion.Choice]) -> LoginQuestion.Choice? {
        let wanted = wanted.lowercased()
        return choices.first { $0.key.lowercased() == wanted } ?? choices.first { $0.name.lowercased() == wanted }
    }

    private static func list(_ choices: [LoginQuestion.Choice]) {
        let width = String(choices.count).count
        for (number, choice) in choices.enumerated() {
            let place = String(number + 1)
            let key = choice.showsKey ? " (\(choice.key.singleLine))" : ""
            Console.note(String(repeating: " ", count: width - place.count) + "\(place)  \(choice.name.singleLine)\(key)")
        }
    }

    /// Asks for a position in the list, or for a name or key that it shows. On a terminal, asks again after a wrong answer.
    private static func answer(_ question: LoginQuestion) throws(CommandError) -> LoginQuestion.Choice {
        let (setting, choices) = (question.setting, question.choices)
        while let answer = try Console.ask("Which \(setting) (1 to \(choices.count))? "), !answer.isEmpty {
            if let number = Int(answer), choices.indices.contains(number - 1) { return choices[number - 1] }
            // A number may only be a key that the list shows.
            let shown = Int(answer) == nil ? choices : choices.filter(\.showsKey)
            if let choice = named(answer, among: shown) { return choice }
            let wrong = "There is no \(setting) `\(answer.singleLine)` in the list"
            guard Console.isInteractive else { throw CommandError(.usage, "\(wrong), so nothing was stored.") }
            Console.note("\(wrong).")
        }
        throw CommandError(
            .usage,
            "Nothing was stored, because no \(setting) was chosen: enter its number, or set `\(setting)` in bellhop.yaml."
        )
    }
}
