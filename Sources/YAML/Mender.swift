struct Mender {
    init(_ source: SourceText, _ limits: Limits) {}
    func mend(_ error: YAMLError) -> YAMLError { error }
}
extension Node {
    func mended(with comment: TrailingComment) -> String? { nil }
}
