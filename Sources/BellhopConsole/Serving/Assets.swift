import BellhopCore

/// The console's style sheet, script and icon.
enum Assets {
    private static let files: [String: (type: String, bytes: [UInt8])] = [
        "console.css": ("text/css; charset=utf-8", PackageResources.console_css),
        "console.svg": ("image/svg+xml", PackageResources.console_svg),
        "console.js": ("text/javascript; charset=utf-8", PackageResources.console_js),
    ]

    /// The path of a file, with a tag of its content, so that browsers cache it until it changes.
    static func path(_ name: String) -> String {
        "/assets/\(name)?v=\((tags[name] ?? "").filter { $0 != "\"" }.prefix(12))"
    }

    private static let tags = files.mapValues { ConsoleAnswer.tag($0.bytes) }

    /// Nil if the request is for something else.
    static func answer(_ request: ConsoleRequest) -> ConsoleAnswer? {
        guard request.path.count == 2, request.path[0] == "assets", let file = files[request.path[1]] else { return nil }
        return ConsoleAnswer(
            200, type: file.type, file.bytes, fields: [("Cache-Control", "public, max-age=31536000, immutable")])
    }
}
