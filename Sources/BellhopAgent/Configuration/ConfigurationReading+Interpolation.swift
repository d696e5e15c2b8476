import BellhopCore
import BellhopRules
import YAML

extension ConfigurationReading {
    /// The text with its references replaced by their values; reports all that are wrong.
    static func interpolate(
        _ text: String, in node: Node, file: String, values: SecretResolver.Found, resolver: SecretResolver,
        hasPlaceholders: Bool
    ) throws(Diagnostics) -> String {
        var out = ""
        var problems = Diagnostics()
        func report(_ code: String, _ message: String, _ range: Range<Int>, help: String) {
            let place = Diagnostic.Place(node, utf8: range, file: file)
            problems.report(Diagnostic(code: code, message, at: place, help: help))
        }
        let parts = Interpolation.parts(of: text)
        for part in parts {
            switch part {
            case .text(let text): out += text
            case .reference(let reference, let range):
                if let value = values.values[reference] {
                    out += value
                } else if hasPlaceholders {
                    // Valid as a password and as an address.
                    out += parts.count == 1 ? "https://placeholder.invalid" : "placeholder"
                } else if let refusal = values.refusals[reference] {
                    report(refusal.isOfName ? "missing-secret" : "failed-secret", refusal.message, range, help: refusal.help)
                } else {
                    let what = reference.space == .env ? "environment variable" : "secret"
                    report(
                        "missing-\(reference.space == .env ? "variable" : "secret")", "there is no \(what) `\(reference.name)`",
                        range,
                        help: resolver.help(for: reference))
                }
            case .other(let words, let range):
                report(
                    "bad-reference", "`${{ \(words) }}` is unknown in bellhop.yaml", range,
                    help: "here are `${{ env.NAME }}` and `${{ secret.NAME }}`")
            case .open(let range):
                report("open-reference", "this `${{` has no end", range, help: "add `}}`, or write `$${{` for the characters")
            }
        }
        for other in OtherTemplate.all(in: text) where other.isOfSecrets {
            report(
                "other-template", "this is not a reference and would be used literally", other.range,
                help: "write `${{ \(other.expression) }}`")
        }
        if !problems.all.isEmpty { throw problems }
        return out
    }
}
