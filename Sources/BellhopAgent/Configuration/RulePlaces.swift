import BellhopCore
import YAML

extension ConfigurationLoader {
    /// Where the rules of a configuration are: all that is needed to look at them while the rest of the file has mistakes.
    public func rulePlaces(_ file: String) -> [String] {
        let root = (try? bytes(of: file)).flatMap { try? YAML.parse(SourceText($0)) }?.first?.root
        let node = root?["rules"]
        let named = node?.items?.compactMap(\.scalarText) ?? node?.scalarText.map { [$0] } ?? []
        let paths = named.filter { !$0.isEmpty && !$0.contains("${{") }
        return (paths.isEmpty ? ["rules"] : paths).map { $0.hasPrefix("/") ? $0 : Self.folder(of: file) + $0 }
    }
}
