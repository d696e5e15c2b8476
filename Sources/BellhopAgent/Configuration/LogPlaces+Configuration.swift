public import BellhopConnectors

extension LogPlaces {
    /// Below the folder of a configuration and the folders that it names, except Bellhop's own files.
    public init(_ configuration: Configuration, keychain: String?) {
        var own: [Own] = [.file(configuration.file), .store(configuration.store)] + configuration.rules.map(Own.rules)
        if let keychain { own.append(.file(keychain)) }
        for case .folder(let folder) in configuration.secretStores { own.append(.folder(folder)) }
        self.init(folders: [configuration.folder] + configuration.logFolders, own: own)
    }
}
