/// Titles, comments and names for generated tasks.
enum SampleTexts {
    struct Kind: Sendable {
        var table: String
        var titles: [String]
    }

    private static let incidents = Kind(
        table: "incident",
        titles: [
            "VPN drops every few minutes", "Cannot open the shared calendar of {who}", "Printer in {room} prints blank pages",
            "Laptop of {who} does not wake from sleep", "Outlook asks for the password again and again",
            "No sound in video calls in {room}", "Screen flickers since the last update", "Account of {who} is locked",
            "Projector in {room} shows no picture", "Expense form loses its attachments", "Wi-Fi is slow in {room}",
            "File server is read-only for the finance group", "Phone of {who} has no dial tone",
        ])
    private static let catalog = Kind(
        table: "sc_task",
        titles: [
            "Set up a laptop for {who}", "Order a second screen for {who}", "Grant {who} access to the project folder",
            "Move the desk phone of {who} to {room}", "Collect the devices of {who} on the last day",
        ])
    private static let changes = Kind(
        table: "change_request",
        titles: [
            "Replace the switch in {room}", "Renew the certificate of the mail gateway",
            "Update the firmware of the badge readers",
        ])
    private static let problems = Kind(
        table: "problem", titles: ["Nightly backup runs into office hours", "Badge readers lose their clock after power cuts"])

    /// Twenty entries, each kind in proportion to its frequency.
    static let kinds =
        Array(repeating: incidents, count: 13) + Array(repeating: catalog, count: 4) + Array(repeating: changes, count: 2) + [
            problems
        ]

    static let firstNames = ["Mira", "Tomasz", "Aiko", "Lena", "Omar", "Ingrid", "Paulo", "Nadia", "Samuel", "Elif"]
    static let rooms = ["room 2.14", "the lobby", "room 0.03", "the canteen", "room 4.20", "the lab"]

    static let comments = [
        "Any news on this?", "It happened again just now.", "It works from my phone, if that helps.",
        "I am out tomorrow, please ask my colleague at the next desk.", "A restart did not help.",
    ]

    static let people = [
        ("abel.tuter", "Abel Tuter"), ("beth.anglin", "Beth Anglin"), ("carla.humble", "Carla Humble"),
        ("david.loo", "David Loo"), ("eva.seahorn", "Eva Seahorn"), ("fred.luddy", "Fred Luddy"),
    ]
}

extension SimulatedInstance {
    /// Adds a few colleagues and callers, who cannot log in, and returns their user names.
    @discardableResult
    public func addPeople() -> [String] {
        for (userName, name) in SampleTexts.people {
            addUser(userName, password: "", name: name)
            changeUser(userName) { $0.isActive = false }
        }
        return SampleTexts.people.map(\.0)
    }
}
