public import BellhopCore

extension TouchPointAction {
    /// The arguments of a `touchpoint` step.
    public static let manifest = ActionManifest(
        kind: "touchpoint", summary: "Adds a response to a TouchPoint of ETO.", receiver: .named,
        arguments: [
            Setting("to", .list(.name), required: true, "The `eto` connections that receive it."),
            Setting("touchpoint", .text, required: true, "The TouchPoint, by its number."),
            Setting("subject", .text, required: true, "The subject it is about, by its number."),
            Setting("program", .text, "The program it belongs to, by name or number; by default the connection's."),
            Setting("created", .text, "When it was filled in; by default when the rule ran."),
            Setting(
                "elements", .map(.json),
                "The answers, by element number: a value, or `{value, type}`, `{date}`, or `{choice: [NUMBER, …]}`."
            ),
            Setting(
                "files",
                .map(
                    .record([
                        Setting("name", .text, required: true, "The file's name."),
                        Setting("text", .text, "Its content, as text."),
                        Setting("base64", .text, "Its content, in Base64."),
                    ])), "Files, by element number; at most 5 MB together."),
        ], effect: .makes)
}
